package output

import (
	"context"
	"io"
	"os"
	"time"
)

// followInterval is the interval of checks of a followed file.
const followInterval = 20 * time.Millisecond

// Follow copies a growing file to w, until ctx ends and the file has been read to its end. It waits for a file that
// does not exist yet. If the file becomes shorter, Follow starts again at its beginning. It ignores failed writes.
func Follow(ctx context.Context, path string, w io.Writer) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	var offset int64
	for ended := false; ; {
		offset = copyFrom(path, offset, w)
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

// copyFrom writes the content of a file from an offset on, and returns the new offset.
func copyFrom(path string, offset int64, w io.Writer) int64 {
	file, err := openNoFollow(path, os.O_RDONLY)
	if err != nil {
		return offset
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < offset {
		offset = 0
	}
	n, _ := io.Copy(w, io.NewSectionReader(file, offset, 1<<62))
	return offset + n
}
