package commandline

import (
	"fmt"

	"github.com/elasticjob-go/elasticjob/executor"
)

// ByteSize is a flag's number of bytes, such as 64MiB.
type ByteSize int64

// Set reads it.
func (b *ByteSize) Set(text string) error {
	n, err := executor.ParseSize(text)
	if err == nil {
		*b = ByteSize(n)
	}
	return err
}

// String is the number as Set reads it.
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

// Type is the kind of value, for the help.
func (b *ByteSize) Type() string { return "size" }
