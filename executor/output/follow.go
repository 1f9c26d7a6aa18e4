package output

import (
	"context"
	"io"
	"os"
	"time"
)

// followInterval is the interval of checks of a followed file.
const followInterval = 20 * time.Millisecond

// Follow copies a growing file to to, until ctx ends and the file has been read to its end. It waits for a file
// that does not exist yet, and begins again at the beginning of one that was rotated. Failed writes are ignored.
func Follow(ctx context.Context, path string, to io.Writer) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	var at int64
	for ended := false; ; {
		at += copyFrom(path, at, to)
		if ended {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ended = true
		}
	}
}

// copyFrom writes the content of a file from the offset at, and returns the change of the offset.
func copyFrom(path string, at int64, to io.Writer) int64 {
	file, err := openNoFollow(path, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer file.Close()
	moved := int64(0)
	if info, err := file.Stat(); err == nil && info.Size() < at {
		moved, at = -at, 0
	}
	n, _ := io.Copy(to, io.NewSectionReader(file, at, 1<<62))
	return moved + n
}
