package system

import (
	"flag"
	"fmt"
	"os"
	"strconv"

	"go.uber.org/goleak"
)

// Main builds the programs, runs the tests of a package, and if they pass, checks that no goroutine is left. It returns
// the exit status. Up to maxParallel tests run in parallel, unless -parallel is given: they wait much more than they
// compute.
func Main(m interface{ Run() int }, bin *Binaries, maxParallel int) (status int) {
	flag.Parse()
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "test.parallel" })
	if !isSet {
		if err := flag.Set("test.parallel", strconv.Itoa(maxParallel)); err != nil {
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
