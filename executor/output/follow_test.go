package output

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/buffer"
)

// text is a writer whose content can be awaited.
type text struct{ buffer.Locked }

func (w *text) await(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; <-time.After(2 * time.Millisecond) {
		have := w.String()
		if have == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("got %q, want %q", have, want)
		}
	}
}

func TestFollowedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stdout")
	write := func(flags int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, flags|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var got text
	var following sync.WaitGroup
	following.Go(func() { Follow(ctx, path, &got) })
	write(os.O_CREATE, "first\n")
	got.await(t, "first\n")
	write(os.O_APPEND, "second\n")
	got.await(t, "first\nsecond\n")
	write(os.O_TRUNC, "rotated\n")
	got.await(t, "first\nsecond\nrotated\n")
	write(os.O_APPEND, "last\n") // output that was written before the end is read
	cancel()
	following.Wait()
	got.await(t, "first\nsecond\nrotated\nlast\n")
}
