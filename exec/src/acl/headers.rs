//! Declarations generated from the headers of CANN on this machine (see `build.rs`), and signatures
//! to compare ours with them. Nothing of it is part of the project or used at run time.

include!(concat!(env!("OUT_DIR"), "/headers.rs"));

/// How a value is passed in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// Nothing.
    Nothing,
    /// A pointer, handle or size: a machine word without a sign.
    Word,
    /// A signed integer of so many bytes.
    Signed(usize),
    /// An unsigned integer of so many bytes, fewer than a word.
    Unsigned(usize),
    /// A floating-point number of so many bytes.
    Float(usize),
}

/// A type that calls pass.
pub trait Pass {
    /// How.
    const PASSED: Passed;
}

macro_rules! pass {
    ($($type:ty => $passed:expr;)*) => {$(
        impl Pass for $type {
            const PASSED: Passed = $passed;
        }
    )*};
}

pass! {
    () => Passed::Nothing;
    bool => Passed::Unsigned(1);
    u8 => Passed::Unsigned(1);
    u16 => Passed::Unsigned(2);
    u32 => Passed::Unsigned(4);
    u64 => Passed::Word;
    usize => Passed::Word;
    i8 => Passed::Signed(1);
    i16 => Passed::Signed(2);
    i32 => Passed::Signed(4);
    i64 => Passed::Signed(8);
    isize => Passed::Signed(8);
    f32 => Passed::Float(4);
    f64 => Passed::Float(8);
}

impl<T> Pass for *const T {
    const PASSED: Passed = Passed::Word;
}

impl<T> Pass for *mut T {
    const PASSED: Passed = Passed::Word;
}

/// A callback, which may be null.
impl<F: Callable> Pass for Option<F> {
    const PASSED: Passed = Passed::Word;
}

/// What a function takes, then what it returns.
pub type Signature = (Vec<Passed>, Passed);

/// A C function.
pub trait Callable {
    /// What it takes and returns.
    fn signature() -> Signature;
}

macro_rules! callable {
    ($($type:ident)*) => {
        impl<$($type: Pass,)* R: Pass> Callable for unsafe extern "C" fn($($type),*) -> R {
            fn signature() -> Signature {
                (vec![$($type::PASSED),*], R::PASSED)
            }
        }

        impl<$($type: Pass,)* R: Pass> Pass for unsafe extern "C" fn($($type),*) -> R {
            const PASSED: Passed = Passed::Word;
        }
    };
}

callable!();
callable!(A);
callable!(A B);
callable!(A B C);
callable!(A B C D);
callable!(A B C D E);
callable!(A B C D E F);
callable!(A B C D E F G);
callable!(A B C D E F G H);
callable!(A B C D E F G H I);
callable!(A B C D E F G H I J);
callable!(A B C D E F G H I J K);
callable!(A B C D E F G H I J K L);

/// The signature of a field of a generated library.
#[cfg(ascsim_headers)]
fn signature<L, F: Callable>(_: fn(&L) -> &Result<F, libloading::Error>) -> Signature {
    F::signature()
}
