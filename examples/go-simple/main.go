// Command go-simple counts primes. Each shard counts those in its part of the numbers below the job parameter, which
// is 1000000 by default.
package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/elasticjob-go/elasticjob/sdk"
)

func main() { sdk.Main(sdk.Simple(countPrimes)) }

func countPrimes(ctx context.Context, s sdk.Shard) error {
	below := 1_000_000
	if s.JobParameter != "" {
		var err error
		if below, err = strconv.Atoi(s.JobParameter); err != nil || below < 1 {
			return fmt.Errorf("the job parameter %q must be a number above 0", s.JobParameter)
		}
	}
	// The parts are ranges. With every third number, for example, one shard would get all multiples of three.
	from, to := below/s.Total*s.Item, below/s.Total*(s.Item+1)
	if s.Item == s.Total-1 {
		to = below
	}
	primes := 0
	for n := from; n < to; n++ {
		if ctx.Err() != nil {
			return ctx.Err() // killed, or timed out after timeoutSeconds
		}
		if isPrime(n) {
			primes++
		}
		s.Progress(float64(n-from)/float64(to-from), "counting")
	}
	fmt.Printf("shard %d of %d: %d primes from %d to %d\n", s.Item, s.Total, primes, from, to-1)
	return nil
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n >= 2
}
