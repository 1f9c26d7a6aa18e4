package output

import (
	"context"
	"io"
	"os"
	"time"
)

// followEvery is how often a file is looked at that is followed.
const followEvery = 20 * time.Millisecond

// Follow writes what a file gets to to, until ctx ends and the file has been read to its end. A file that is not
// there yet is waited for; one that was rotated is read from its beginning again. What can't be written is left out.
func Follow(ctx context.Context, path string, to io.Writer) {
	ticker := time.NewTicker(followEvery)
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

// copyFrom writes what is in a file behind at, and returns by how much at moves.
func copyFrom(path string, at int64, to io.Writer) int64 {
	file, err := openOwn(path, os.O_RDONLY)
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
