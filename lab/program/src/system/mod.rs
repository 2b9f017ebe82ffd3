//! Programs of the system as children of this one, files for output, files that are written whole, room on disks, the umask,
//! and folders of the user's alone. Any folder may call this.

pub mod child_process;
pub mod free_space;
pub mod output_file;
pub mod private_folder;
pub mod programs;
pub mod umask;
pub mod whole_file;
