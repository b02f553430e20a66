//! One case under watch: what it allocates, and whether it ends.
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a case may take at once: for buffers of fixed size, and for each byte of the input.
const FIXED: usize = 24 << 20;
const PER_BYTE: usize = 2000;
/// No case comes near this; it is for loops without end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The system's allocator, which notes how much a thread holds at most.
struct Noting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn note(bytes: isize) {
    // A thread that ends has none of these any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as isize - layout.size() as isize);
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// What the threads are at, and since when.
static RUNNING: Mutex<Vec<(std::thread::ThreadId, String, Instant)>> = Mutex::new(Vec::new());

static WATCHMAN: LazyLock<()> = LazyLock::new(|| {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, name, _)) =
                running.iter().find(|(.., since)| since.elapsed() > PATIENCE)
            {
                eprintln!("{name}: no end after {PATIENCE:?}");
                std::process::abort();
            }
        }
    });
});

/// Reads an input; panics with the name of the case if that panics, or takes too much memory.
pub fn watched(name: &str, input: &[u8], read: &impl Fn(&[u8])) {
    LazyLock::force(&WATCHMAN);
    let thread = std::thread::current().id();
    let running = || RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    running().push((thread, name.to_owned(), Instant::now()));
    let before = HELD.get();
    MOST.set(before);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(input)));
    let taken = (MOST.get() - before) as usize;
    running().retain(|(of, ..)| *of != thread);
    if let Err(panic) = result {
        eprintln!("{name}");
        std::panic::resume_unwind(panic);
    }
    let bound = FIXED + PER_BYTE * input.len();
    assert!(taken <= bound, "{name}: {taken} bytes taken for an input of {}", input.len());
}

#[test]
fn memory_out_of_proportion_is_seen() {
    let taken = std::panic::catch_unwind(|| {
        watched("large", b"12345", &|_: &[u8]| {
            std::hint::black_box(vec![1_u8; FIXED + 100_000]);
        });
    });
    assert!(taken.is_err());
    watched("small", b"12345", &|_: &[u8]| drop(std::hint::black_box(vec![1_u8; FIXED - 100_000])));
}
