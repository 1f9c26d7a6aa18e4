package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/scheduler/core/config"
	"github.com/elasticjob-go/elasticjob/test/schedule"
)

func TestFiresAhead(t *testing.T) {
	t.Parallel()
	b := newFakeScheduler()
	b.fires = []config.ScheduleView{
		{Schedule: schedule.Of(t, "0 0/30 * * * ?", "UTC"), Jobs: 100, Shards: 300},
		{Schedule: schedule.Of(t, "0/10 59 12 * * ?", "UTC"), Jobs: 1, Shards: 2},
		{Schedule: schedule.Of(t, "0 0 3 * * ?", "Europe/Berlin"), Jobs: 7, Shards: 7},
	}
	var mu sync.Mutex
	now := noon.Add(20*time.Second + time.Millisecond)
	server := start(t, api.Options{Scheduler: b, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	at := func(moment time.Time) { mu.Lock(); defer mu.Unlock(); now = moment }
	expect := func(from string, shifted bool, asked int, fires, shards map[int]int) {
		t.Helper()
		answer, text := call(t, server, "GET", "/api/overview/fires", "")
		var got, want struct {
			From          string
			StepSeconds   int
			Fires, Shards []int
			Shifted       bool
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%d %s: %v", answer.StatusCode, text, err)
		}
		want.From, want.StepSeconds, want.Shifted, want.Fires, want.Shards = from, 60, shifted, make([]int, 60),
			make([]int, 60)
		for minute, n := range fires {
			want.Fires[minute], want.Shards[minute] = n, shards[minute]
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if b.counted != asked {
			t.Errorf("%s: the scheduler was asked %d times, not %d", from, b.counted, asked)
		}
	}
	fires, shards := map[int]int{0: 100, 30: 100, 59: 6}, map[int]int{0: 300, 30: 300, 59: 12}
	expect("2026-05-01T12:00:00Z", false, 1, fires, shards)
	at(now.Add(4 * time.Second))
	expect("2026-05-01T12:00:00Z", false, 1, fires, shards)
	at(now.Add(2 * time.Second))
	expect("2026-05-01T12:00:00Z", false, 2, fires, shards)
	at(noon.Add(59 * time.Second))
	expect("2026-05-01T12:00:00Z", false, 3, fires, shards)
	at(noon.Add(60 * time.Second)) // the hour now begins with another minute
	expect("2026-05-01T12:01:00Z", false, 4, map[int]int{29: 100, 58: 6, 59: 100},
		map[int]int{29: 300, 58: 12, 59: 300})
	at(time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)) // at 01:00 UTC clocks in Berlin go from 02:00 to 03:00
	expect("2026-03-29T00:30:00Z", true, 5, map[int]int{0: 100, 30: 107}, map[int]int{0: 300, 30: 307})
	b.unread = errors.New("no leader")
	at(now.Add(time.Minute))
	if answer, text := call(t, server, "GET", "/api/overview/fires",
		""); answer.StatusCode != http.StatusInternalServerError || !strings.Contains(text, "error") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}
