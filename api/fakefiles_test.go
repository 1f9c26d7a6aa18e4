package api_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// files are the files of an agent.
type files struct {
	mu    sync.Mutex
	texts map[string]string
	err   error
	reads chan struct{} // if not nil, receives each read
}

func (f *files) set(path, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.texts == nil {
		f.texts = map[string]string{}
	}
	f.texts[path] = text
}

func (f *files) text(path string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	text, ok := f.texts[path]
	if !ok {
		return "", fmt.Errorf("read %s: %w", path, cluster.ErrGone)
	}
	return text, nil
}

func (f *files) Read(ctx context.Context, _, path string, offset int64, length int) ([]byte, error) {
	if f.reads != nil {
		select {
		case f.reads <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	text, err := f.text(path)
	if err != nil || offset >= int64(len(text)) {
		return nil, err
	}
	return []byte(text[offset:min(int64(len(text)), offset+int64(length))]), nil
}

func (f *files) Size(_ context.Context, _, path string) (int64, error) {
	text, err := f.text(path)
	return int64(len(text)), err
}
