package system

import (
	"flag"
	"fmt"
	"os"
	"strconv"

	"go.uber.org/goleak"
)

// Main builds the programs, runs a package's tests, most of which wait much more than they compute and so go so many
// at a time unless -parallel says otherwise, and looks for goroutines that were left. It gives the exit status.
func Main(m interface{ Run() int }, bin *Binaries, atOnce int) (status int) {
	flag.Parse()
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	var err error
	if *bin, err = Build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := bin.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}()
	if status = m.Run(); status != 0 {
		return status
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
