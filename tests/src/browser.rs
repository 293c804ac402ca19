//! A real browser for tests: Debian's `chromium`, spoken to by the DevTools protocol over a pipe.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// How long a browser may be silent before it is taken to hang. No test depends on it.
const SILENCE: Duration = Duration::from_secs(300);

/// A browser with one page.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    sent: u64,
    /// Errors that the page logged or threw.
    pub errors: Vec<String>,
    /// What the page asked the network for.
    pub requests: Vec<String>,
    /// Its settings; removed with it.
    _profile: tempfile::TempDir,
}

/// The browser's program: what `CHROMIUM` names, or `chromium`. `None` where there is none.
///
/// # Panics
/// Where the environment says `CI=true` and there is none: there, a test must not pass unrun.
pub fn chromium() -> Option<PathBuf> {
    let name = std::env::var_os("CHROMIUM").unwrap_or_else(|| "chromium".into());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = if Path::new(&name).is_absolute() {
        Some(PathBuf::from(&name)).filter(|file| file.is_file())
    } else {
        let mut places = std::env::split_paths(&path).map(|folder| folder.join(&name));
        places.find(|file| file.is_file())
    };
    if found.is_none() {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(
            !ci,
            "chromium is missing, and CI=true: apt-get install chromium"
        );
        eprintln!("not run: chromium is missing");
    }
    found
}

impl Browser {
    /// Starts a browser with an empty page of this size in CSS pixels.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(program: &Path, width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        // The protocol is read from file 3 and written to file 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let commands = child.stdin.take().expect("it is piped");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (send, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                let text = message.strip_suffix(&[0]).unwrap_or(&message);
                let Ok(value) = serde_json::from_slice(text) else {
                    break;
                };
                if send.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            commands,
            answers,
            session: None,
            sent: 0,
            errors: Vec::new(),
            requests: Vec::new(),
            _profile: profile,
        };
        let target = browser.command("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.command("Target.attachToTarget", target);
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.command(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(width, height);
        browser
    }

    /// Gives the page another size in CSS pixels.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sends a command of the protocol and returns its result.
    ///
    /// # Panics
    /// If the browser refuses it, or has died.
    pub fn command(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let text = format!("{message}\0");
        self.commands
            .write_all(text.as_bytes())
            .expect("it listens");
        loop {
            let answer = self.answers.recv_timeout(SILENCE);
            let mut answer = answer.unwrap_or_else(|error| panic!("{method}: {error}"));
            if answer["id"] == json!(self.sent) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            self.event(&answer);
        }
    }

    fn event(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => {
                self.errors.push(parameters["exceptionDetails"].to_string());
            }
            "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                self.errors.push(parameters["args"].to_string());
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                self.errors.push(parameters["entry"].to_string());
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("file:")
                    && !url.starts_with("data:")
                    && !url.starts_with("blob:")
                {
                    self.requests.push(url.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Opens a file and waits until `ready`, an expression of the page, is true.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub fn open(&mut self, file: &Path, ready: &str) {
        let url = format!("file://{}", file.display());
        let opened = self.command("Page.navigate", json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{opened}");
        self.wait(ready);
    }

    /// Waits until an expression of the page is true.
    ///
    /// # Panics
    /// If it throws.
    pub fn wait(&mut self, ready: &str) {
        self.evaluate(&format!(
            "new Promise((done) => {{ const look = () => ({ready}) ? done(true) : setTimeout(look, 10); look(); }})"
        ));
    }

    /// The value of an expression of the page; of what it resolves to, if it is a promise.
    ///
    /// # Panics
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let call = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.command("Runtime.evaluate", call);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].take()
    }

    /// Presses and releases a key, such as `a`, `ArrowLeft`, `Enter`.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn press(&mut self, key: &str) {
        let codes: BTreeMap<&str, u32> = BTreeMap::from([
            ("Enter", 13),
            ("Escape", 27),
            ("Tab", 9),
            ("ArrowLeft", 37),
            ("ArrowUp", 38),
            ("ArrowRight", 39),
            ("ArrowDown", 40),
        ]);
        let mut event = json!({"type": "keyDown", "key": key});
        match codes.get(key) {
            Some(code) => event["windowsVirtualKeyCode"] = json!(code),
            None => event["text"] = json!(key),
        }
        if key == "Enter" {
            event["text"] = json!("\r");
        }
        self.command("Input.dispatchKeyEvent", event);
        self.command(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key}),
        );
    }

    /// Types text where the focus is.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn write(&mut self, text: &str) {
        self.command("Input.insertText", json!({"text": text}));
    }

    /// Presses the mouse at one point, moves it to another and lets go; a click where both are one.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        self.mouse("mousePressed", from);
        if from != to {
            self.mouse("mouseMoved", middle);
            self.mouse("mouseMoved", to);
        }
        self.mouse("mouseReleased", to);
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let event =
            json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
        self.command("Input.dispatchMouseEvent", event);
    }

    /// Turns the wheel at a point, with the control key held if `control`.
    ///
    /// # Panics
    /// If the browser refuses.
    pub fn wheel(&mut self, (x, y): (f64, f64), by: f64, control: bool) {
        const CONTROL: u32 = 2;
        let modifiers = if control { CONTROL } else { 0 };
        let event = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by, "modifiers": modifiers});
        self.command("Input.dispatchMouseEvent", event);
    }

    /// Fails if the page logged an error or asked the network for anything.
    ///
    /// # Panics
    /// If it did.
    pub fn assert_quiet(&self) {
        assert!(self.errors.is_empty(), "{:#?}", self.errors);
        assert!(self.requests.is_empty(), "{:#?}", self.requests);
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The whole of it: the shell has become the browser, which ends its own helpers.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
