package pack

import (
	"context"
	"os"
)

// UnpackFile unpacks the file into the folder dir, which must exist and be empty.
func UnpackFile(ctx context.Context, file, dir, name string, limits Limits) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	_, err = unpackFile(ctx, f, root, Source{URL: "file:///" + name}, limits)
	return err
}
