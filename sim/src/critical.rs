//! The critical path: from the last task back to the start of the step, the one chain of stretches
//! that decided when it ended.
//!
//! At each place the walk takes a requirement that was met at exactly that time. The stretches
//! therefore join without holes or overlaps.

use crate::blame::Category;
use crate::compiled::{Compiled, NONE, Need, Point, Reason, Role};
use crate::costs::Options;
use crate::timeline::Timeline;
use crate::times::Times;

/// What a stretch is, seen from its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The device task runs. 0 long for records and for waits that did not block.
    Task,
    /// The host call. 0 long for host ops that only wait.
    Call,
    /// The gap before the task on its stream.
    Gap,
    /// The latency of the launch or of the signal that it waits for.
    Latency,
    /// It held cores that a ready task of the path waited for; where nobody is known to have held
    /// them, it waited itself. Or it ran longer because it had too few.
    Cores,
    /// It ran longer than its cores need, for want of bandwidth.
    Bandwidth,
    /// The delay that the schedule states.
    Delay,
}

/// A stretch of the critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The instance.
    pub instance: u32,
    /// What it is of that instance.
    pub part: Part,
    /// What it is blamed on.
    pub category: Category,
    /// Start in ps.
    pub from: u64,
    /// End in ps.
    pub to: u64,
    /// Why it could not start earlier: how the stretch before it leads here.
    /// [`Reason::Running`] where that is of the same instance, or nothing was before it.
    pub after: Reason,
}

/// The critical path in the order of time. It starts at 0 and ends with the last task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// Its stretches; each starts where the one before it ends.
    pub segments: Vec<Segment>,
}

impl CriticalPath {
    /// The critical path of a run.
    ///
    /// # Complexity
    /// O(length of the path times the needs of its instances, and the logarithm of the longest
    /// stream).
    pub fn new(program: &Compiled, options: &Options, times: &Times, timeline: &Timeline) -> Self {
        let mut walk = Walk {
            program,
            options,
            times,
            timeline,
            segments: Vec::new(),
        };
        let mut at = timeline.last().map(|last| (last, Point::End));
        while let Some((instance, point)) = at {
            at = match point {
                Point::End => walk.end(instance),
                Point::Start => walk.start(instance),
                Point::Issued => walk.issued(instance),
            };
        }
        walk.segments.reverse();
        Self {
            segments: walk.segments,
        }
    }
}

type Place = (u32, Point);

struct Walk<'a> {
    program: &'a Compiled,
    options: &'a Options,
    times: &'a Times,
    timeline: &'a Timeline,
    /// From the end of the path to its start.
    segments: Vec<Segment>,
}

impl Walk<'_> {
    fn push(&mut self, instance: u32, part: Part, category: Category, from: u64, to: u64) {
        let is_host = self.program.role[instance as usize] == Role::Host;
        if from < to || part == Part::Task || (part == Part::Call && is_host) {
            self.segments.push(Segment {
                instance,
                part,
                category,
                from,
                to,
                after: Reason::Running,
            });
        }
    }

    /// Goes to an earlier place; the last stretch could not start before it because of `why`.
    fn go(&mut self, why: Reason, to: Place) -> Option<Place> {
        // The first step back from a stretch is its reason, also where calls of no length follow.
        if let Some(segment) = self.segments.last_mut()
            && segment.after == Reason::Running
        {
            segment.after = why;
        }
        Some(to)
    }

    fn met(&self, need: Need) -> u64 {
        let on = need.on as usize;
        let time = match need.point {
            Point::Issued => self.timeline.issued[on],
            Point::Start => self.timeline.start[on],
            Point::End => self.timeline.end[on],
        };
        time + self.options.lag(need.why)
    }

    /// From the end of a task or host op to what ended it.
    fn end(&mut self, instance: u32) -> Option<Place> {
        let at = instance as usize;
        let (start, end) = (self.timeline.start[at], self.timeline.end[at]);
        let category = self.program.category[at];
        match self.program.role[at] {
            Role::Host => return Some((instance, Point::Issued)),
            Role::Collective(transfer) => {
                let members = &self.program.transfers[transfer as usize].members;
                let began = |member: &u32| self.timeline.start[*member as usize];
                let last = members.iter().copied().fold(instance, |last, member| {
                    if began(&member) > began(&last) {
                        member
                    } else {
                        last
                    }
                });
                self.push(instance, Part::Task, category, began(&last), end);
                if last == instance {
                    return Some((instance, Point::Start));
                }
                self.go(Reason::Collective, (last, Point::Start));
                let moment = began(&last);
                self.push(last, Part::Task, category, moment, moment);
                return Some((last, Point::Start));
            }
            Role::Wait | Role::Container if end > start => {
                let needs = self.program.end_needs.of(instance);
                if let Some(need) = needs.iter().copied().find(|need| self.met(*need) == end) {
                    return self.signalled(instance, need, end);
                }
            }
            Role::WaitFlag(_) | Role::WaitNotify(_) | Role::WaitWord(_) if end > start => {
                let why = match self.program.role[at] {
                    Role::WaitFlag(_) => Reason::Event,
                    Role::WaitNotify(_) => Reason::Notify,
                    _ => Reason::Value,
                };
                let need = Need {
                    on: self.timeline.released_by[at],
                    point: Point::End,
                    why,
                };
                // One that was met before takes only its own time.
                if need.on != NONE && self.met(need) == end {
                    return self.signalled(instance, need, end);
                }
            }
            _ => {}
        }
        if !self.timeline.was_queued(instance) {
            return self.passed(instance, end);
        }
        let alone = start.saturating_add(self.times.duration[at]);
        let (part, slowed) = match self.program.loads[at].flows() {
            true => (Part::Bandwidth, Category::Memory),
            false => (Part::Cores, Category::WaitOnCores),
        };
        self.push(instance, part, slowed, alone.min(end), end);
        self.push(instance, Part::Task, category, start, alone.min(end));
        Some((instance, Point::Start))
    }

    /// From the end of something that another instance ended.
    fn signalled(&mut self, instance: u32, need: Need, end: u64) -> Option<Place> {
        let category = self.program.category[instance as usize];
        self.push(instance, Part::Task, category, end, end);
        let sent = end - self.options.lag(need.why);
        self.push(instance, Part::Latency, Category::WaitOnEvent, sent, end);
        self.go(need.why, (need.on, need.point))
    }

    /// From a wait that was never queued to what came before it.
    fn passed(&mut self, instance: u32, time: u64) -> Option<Place> {
        match self.before(instance) {
            Some(before) if self.timeline.end[before as usize] == time => {
                self.go(Reason::Stream, (before, Point::End))
            }
            _ => self.go(Reason::Issue, (instance, Point::Issued)),
        }
    }

    /// The queued task before an instance on its stream.
    fn before(&self, instance: u32) -> Option<u32> {
        let tasks = self
            .program
            .streams
            .of(self.program.stream[instance as usize]);
        let place = tasks.partition_point(|task| *task < instance);
        let earlier = tasks[..place].iter().rev().copied();
        earlier
            .into_iter()
            .find(|task| self.timeline.was_queued(*task))
    }

    /// From the start of a task to what it needed last.
    fn start(&mut self, instance: u32) -> Option<Place> {
        let at = instance as usize;
        if self.program.role[at] == Role::Host {
            return self.called(instance);
        }
        let (ready, start) = (self.timeline.ready[at], self.timeline.start[at]);
        self.without_cores(instance, ready, start);
        let base = ready - self.times.delay[at];
        let delay = Category::of_delay(self.program.cause[at]);
        self.push(instance, Part::Delay, delay, base, ready);
        if let Some(before) = self.before(instance) {
            let kinds = (self.program.kind[before as usize], self.program.kind[at]);
            let end = self.timeline.end[before as usize];
            if end + self.options.gaps.get(kinds.0, kinds.1) == base {
                self.push(instance, Part::Gap, Category::Gap, end, base);
                return self.go(Reason::Stream, (before, Point::End));
            }
        }
        let needs = self.program.start_needs.of(instance);
        if let Some(need) = needs.iter().copied().find(|need| self.met(*need) == base) {
            let sent = base - self.options.lag(need.why);
            self.push(instance, Part::Latency, Category::WaitOnEvent, sent, base);
            return self.go(need.why, (need.on, need.point));
        }
        if self.program.thread[at] == NONE {
            return None;
        }
        let issued = self.timeline.issued[at];
        self.push(instance, Part::Latency, Category::Launch, issued, base);
        self.go(Reason::Issue, (instance, Point::Issued))
    }

    /// The time that a ready task waited for cores, as stretches of those that held them: the task
    /// that gave them back last, before it the one whose cores that task had waited for, and so on.
    fn without_cores(&mut self, instance: u32, ready: u64, start: u64) {
        let (mut waiting, mut to) = (instance, start);
        while ready < to {
            let at = waiting as usize;
            let holder = self.timeline.released_by[at];
            let waited = self.timeline.ready[at] < self.timeline.start[at];
            if holder == NONE || !waited || self.timeline.start[holder as usize] >= to {
                self.push(instance, Part::Cores, Category::WaitOnCores, ready, to);
                return;
            }
            let from = self.timeline.start[holder as usize].max(ready);
            self.push(holder, Part::Cores, Category::WaitOnCores, from, to);
            (waiting, to) = (holder, from);
        }
    }

    /// From the end of a host call to what its thread waited for or did before.
    fn issued(&mut self, instance: u32) -> Option<Place> {
        let at = instance as usize;
        let issued = self.timeline.issued[at];
        let go = issued - self.times.issue[at];
        if self.program.role[at] == Role::Host {
            let met = go - self.times.duration[at];
            self.push(instance, Part::Call, Category::Host, met, issued);
            let start = self.timeline.start[at];
            if met > start {
                let needs = self.program.end_needs.of(instance);
                let need = needs.iter().copied().find(|need| self.met(*need) == met)?;
                return self.go(need.why, (need.on, need.point));
            }
            return self.called(instance);
        }
        self.push(instance, Part::Call, Category::Launch, go, issued);
        self.turn(instance, go)
    }

    /// From the start of a host op to what its thread waited for or did before.
    fn called(&mut self, instance: u32) -> Option<Place> {
        let at = instance as usize;
        let start = self.timeline.start[at];
        let go = start - self.times.delay[at];
        let delay = Category::of_delay(self.program.cause[at]);
        self.push(instance, Part::Delay, delay, go, start);
        self.turn(instance, go)
    }

    /// From the moment a call is made to what its thread waited for or did before.
    fn turn(&mut self, instance: u32, go: u64) -> Option<Place> {
        let calls = self
            .program
            .threads
            .of(self.program.thread[instance as usize]);
        let place = calls.partition_point(|call| *call < instance);
        if let Some(before) = place.checked_sub(1).map(|place| calls[place]) {
            let index = before as usize;
            let issued = self.timeline.issued[index];
            if self.program.blocking[index] && self.timeline.end[index].max(issued) == go {
                return if self.timeline.end[index] == go {
                    self.go(Reason::BlockingCopy, (before, Point::End))
                } else {
                    self.go(Reason::Thread, (before, Point::Issued))
                };
            }
            if !self.program.blocking[index] && issued == go {
                return self.go(Reason::Thread, (before, Point::Issued));
            }
        }
        let needs = self.program.host_needs.of(instance);
        let need = needs.iter().copied().find(|need| self.met(*need) == go)?;
        self.go(need.why, (need.on, need.point))
    }
}
