// Command neighbour measures on a running Mesos how the offers that a framework holds affect the other frameworks of
// the cluster (promise 6): for which share of the time it holds offers, how many CPUs these contain compared with
// those that it uses, and how long another framework waits for resources.
//
// It subscribes as a framework of its own, wants resources for one task from time to time, launches a process that
// holds them for a while, and repeatedly asks the master who holds what. It changes nothing else, and its framework
// is torn down at the end.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	o := options{}
	flag.StringVar(&o.master, "master", "http://127.0.0.1:5050", "the leading master")
	flag.StringVar(&o.watched, "framework", "ElasticJob", "what the watched framework's name begins with")
	flag.DurationVar(&o.lasts, "for", time.Minute, "how long to measure")
	flag.DurationVar(&o.sample, "sample", 40*time.Millisecond, "mean time between two questions to the master")
	flag.Float64Var(&o.cpus, "wants", 0, "CPUs of each task of the neighbour; 0 for no neighbour")
	flag.DurationVar(&o.takes, "takes", time.Second, "how long such a task keeps its resources")
	flag.DurationVar(&o.pause, "pause", time.Second, "mean time between such a task's end and the next wish")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "neighbour:", err)
		os.Exit(1)
	}
}

type options struct {
	master, watched string
	lasts, sample   time.Duration
	cpus            float64
	takes, pause    time.Duration
}

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, o.lasts)
	defer cancel()
	var waits []time.Duration
	var neighbourErr error
	var group sync.WaitGroup
	if o.cpus > 0 {
		group.Go(func() {
			if waits, neighbourErr = beNeighbour(ctx, o); neighbourErr != nil {
				cancel()
			}
		})
	}
	seen, err := watch(ctx, o)
	cancel()
	group.Wait()
	if err != nil || neighbourErr != nil {
		return fmt.Errorf("%w %w", err, neighbourErr)
	}
	seen.print()
	if o.cpus > 0 {
		printWaits(o.cpus, waits)
	}
	return nil
}

// amounts are the offers and CPUs of a framework at one time, as the master reports them.
type amounts struct {
	offers        int
	offered, used float64
}

// samples are the measured amounts, without times at which no framework of that name was subscribed.
type samples []amounts

// watch asks the master until ctx ends, at random intervals, so that the samples are not correlated with fires.
func watch(ctx context.Context, o options) (samples, error) {
	var all samples
	for {
		a, there, err := look(ctx, o)
		if ctx.Err() != nil {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if there {
			all = append(all, a)
		}
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(2 * o.sample)))):
		case <-ctx.Done():
			return all, nil
		}
	}
}

type scalars []struct {
	Name   string
	Scalar struct{ Value float64 }
}

func (s scalars) cpus() (sum float64) {
	for _, r := range s {
		if r.Name == "cpus" {
			sum += r.Scalar.Value
		}
	}
	return sum
}

func look(ctx context.Context, o options) (a amounts, there bool, err error) {
	req, err := http.NewRequestWithContext(ctx, "POST", o.master+"/api/v1",
		bytes.NewReader([]byte(`{"type":"GET_FRAMEWORKS"}`)))
	if err != nil {
		return a, false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, false, fmt.Errorf("ask the master who holds what: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	var said struct {
		GetFrameworks struct {
			Frameworks []struct {
				Active           bool
				FrameworkInfo    struct{ Name string } `json:"framework_info"`
				Offers           []json.RawMessage
				OfferedResources scalars `json:"offered_resources"`
				Allocated        scalars `json:"allocated_resources"`
			}
		} `json:"get_frameworks"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		return a, false, fmt.Errorf("read the master's answer, %s: %w", resp.Status, err)
	}
	for _, f := range said.GetFrameworks.Frameworks {
		if f.Active && strings.HasPrefix(strings.ToLower(f.FrameworkInfo.Name), strings.ToLower(o.watched)) {
			a.offers += len(f.Offers)
			a.offered += f.OfferedResources.cpus()
			a.used += f.Allocated.cpus()
			there = true
		}
	}
	return a, there, nil
}

func (s samples) print() {
	if len(s) == 0 {
		fmt.Println("no framework of that name was subscribed")
		return
	}
	byOffers := map[int]int{}
	var offered, used float64
	for _, a := range s {
		byOffers[a.offers]++
		offered += a.offered
		used += a.used
	}
	n := float64(len(s))
	fmt.Printf("%d looks: offers held %.1f %% of the time, %.2f CPUs on average, beside %.2f used\n", len(s),
		100*(1-float64(byOffers[0])/n), offered/n, used/n)
	var most int
	for k := range byOffers {
		most = max(most, k)
	}
	for k := 1; k <= most; k++ {
		if byOffers[k] > 0 {
			fmt.Printf("  %d at once: %.1f %%\n", k, 100*float64(byOffers[k])/n)
		}
	}
}

func printWaits(cpus float64, waits []time.Duration) {
	if len(waits) == 0 {
		fmt.Printf("a neighbour that wants %g CPUs got none\n", cpus)
		return
	}
	slices.Sort(waits)
	at := func(q float64) time.Duration { return waits[int(q*float64(len(waits)-1))].Round(time.Millisecond) }
	var sum time.Duration
	for _, w := range waits {
		sum += w
	}
	fmt.Printf("a neighbour that wants %g CPUs got them %d times, after %v on average, p50 %v, p90 %v, %v at most\n",
		cpus, len(waits), (sum / time.Duration(len(waits))).Round(time.Millisecond), at(0.5), at(0.9), at(1))
}
