package executor

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp is how a folder is seen to be as it was, without reading it. The zero value is none.
type stamp struct {
	inode   uint64
	changed int64 // by the file system's clock, which nobody can set for one file
}

// settled is how old the last change must be for the next one to have another time for certain: clocks of
// file systems tick every few milliseconds.
const settled = 100 * time.Millisecond

// stampOf gives none for a folder that was changed just now, or by a clock that is ahead.
func stampOf(info fs.FileInfo) stamp {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(stat.Ctim.Unix())) < settled {
		return stamp{}
	}
	return stamp{inode: stat.Ino, changed: stat.Ctim.Nano()}
}
