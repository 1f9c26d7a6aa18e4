package system

import (
	"flag"
	"fmt"
	"os"
	"strconv"

	"go.uber.org/goleak"
)

// Main builds the programs, runs the tests of a package, and checks that no goroutine is left. It returns the exit
// status. atOnce tests run in parallel unless -parallel is given, because most tests wait much more than they
// compute.
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
