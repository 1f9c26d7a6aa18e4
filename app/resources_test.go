package app_test

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/app"
)

func TestHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		free, shard app.Resources
		most, want  int
	}{
		{app.Resources{CPUMilli: 1000, MemMilli: 1000}, app.Resources{CPUMilli: 300, MemMilli: 100}, 10, 3},
		{app.Resources{CPUMilli: 1000, MemMilli: 1000}, app.Resources{CPUMilli: 100, MemMilli: 400}, 10, 2},
		{app.Resources{CPUMilli: 1000, MemMilli: 1000}, app.Resources{CPUMilli: 1, MemMilli: 1}, 10, 10},
		{app.Resources{CPUMilli: 1000, MemMilli: 1000}, app.Resources{CPUMilli: 1001, MemMilli: 1}, 10, 0},
		{app.Resources{CPUMilli: 1000, MemMilli: 5}, app.Resources{CPUMilli: 100}, 20, 10},
		{app.Resources{CPUMilli: 1000, MemMilli: -5}, app.Resources{CPUMilli: 100}, 20, 0},
		{app.Resources{}, app.Resources{}, 7, 7},
	} {
		if got := c.free.Holds(c.shard, c.most); got != c.want {
			t.Errorf("%v holds %d of %v, want %d", c.free, got, c.shard, c.want)
		}
	}
}
