//! Programs of the system as children of this one, files that are written whole, room on disks, and folders of the user's alone. Any folder may
//! call this.

pub mod child_process;
pub mod free_space;
pub mod private_folder;
pub mod programs;
pub mod whole_file;
