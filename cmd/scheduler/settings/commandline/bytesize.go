package commandline

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/executor"
)

// ByteSize is the value of a flag: a number of bytes, written as 64MiB for example.
type ByteSize int64

// Set parses a size as executor.ParseSize does.
func (b *ByteSize) Set(text string) error {
	n, err := executor.ParseSize(text)
	if err == nil {
		*b = ByteSize(n)
	}
	return err
}

// String returns the size in the form that Set parses.
func (b *ByteSize) String() string {
	for _, unit := range []struct {
		name string
		size ByteSize
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if *b >= unit.size && *b%unit.size == 0 {
			return fmt.Sprintf("%d%s", *b/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d", int64(*b))
}

// Type returns the name of the type for --help.
func (b *ByteSize) Type() string { return "size" }
