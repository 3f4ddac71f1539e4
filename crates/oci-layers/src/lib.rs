//! erofs-writer
