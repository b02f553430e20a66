//! A small file system of its own.
use std::path::Path;
use std::process::Command;

/// A `tmpfs`; `None`, with the reason printed, where mounting is not allowed.
pub struct Mounted(tempfile::TempDir);

impl Mounted {
    pub fn new(options: &str) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(directory.path())
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Mounted(directory)),
            _ => {
                println!("skipped: cannot mount a file system of {options}");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let status = Command::new("mount").args(["-o", &options]).arg(self.path()).status();
        assert!(status.unwrap().success(), "{options}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}
