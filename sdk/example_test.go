package sdk_test

import (
	"context"
	"fmt"

	"github.com/elasticjob-go/elasticjob/sdk"
)

// The main function of a program is one call:
//
//	func main() { sdk.Main(sdk.Simple(count)) }
//
// The job's function can be tried without a scheduler, in a test or as here, with a Shard as a literal.
func ExampleSimple() {
	count := func(ctx context.Context, s sdk.Shard) error {
		rows := []string{"a", "b", "c", "d", "e", "f", "g"}
		for i, row := range rows {
			if ctx.Err() != nil {
				return ctx.Err() // killed, or exceeded timeoutSeconds
			}
			if i%s.Total == s.Item { // the shard's share
				fmt.Println(s.Parameter, row)
			}
			s.Progress(float64(i+1)/float64(len(rows)), fmt.Sprintf("%d of %d rows", i+1, len(rows)))
		}
		return nil
	}
	err := sdk.Simple(count).Run(context.Background(), sdk.Shard{Item: 1, Total: 3, Parameter: "blue"})
	fmt.Println(err)
	// Output:
	// blue b
	// blue e
	// <nil>
}

// With the property streaming.process a run repeats both steps until fetch returns nothing.
func ExampleDataflow() {
	queue := []int{1, 2, 3, 4, 5}
	fetch := func(context.Context, sdk.Shard) ([]int, error) {
		batch := queue[:min(2, len(queue))]
		queue = queue[len(batch):]
		return batch, nil
	}
	process := func(_ context.Context, s sdk.Shard, batch []int) error {
		fmt.Println(batch)
		return nil
	}
	err := sdk.Dataflow(fetch, process).Run(context.Background(),
		sdk.Shard{Total: 1, Props: map[string]string{"streaming.process": "true"}})
	fmt.Println(err)
	// Output:
	// [1 2]
	// [3 4]
	// [5]
	// <nil>
}

// A panic fails only its own run, with the stack.
func ExampleJob_Run() {
	job := sdk.Simple(func(context.Context, sdk.Shard) error { panic("out of cheese") })
	err := job.Run(context.Background(), sdk.Shard{Total: 1})
	fmt.Printf("%.20s\n", err.Error())
	// Output: panic: out of cheese
}
