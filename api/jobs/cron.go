package jobs

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// cronView describes a cron in words, with its next fires.
type cronView struct {
	Cron string `json:"cron"`
	// TimeZone is the effective time zone: the server's if the request names none, and "" if that has no name.
	TimeZone  string     `json:"timeZone"`
	Words     string     `json:"words"`
	NextFires []fireView `json:"nextFires"`
	Notes     []string   `json:"notes"`
}

// fireView is one fire. Note explains how a clock change affects it.
type fireView struct {
	Time  time.Time `json:"time"`
	Local string    `json:"local"`
	Note  string    `json:"note"`
}

// These bound the number of fires in an answer.
const (
	defaultFires = 10
	maxFires     = 100
)

// These are the parameters of the explanation of a cron.
var (
	theCron = request.Text("cron", "The cron, of six or seven fields.").WithExample("0 0 3 ? * MON-FRI").Mandatory()
	theZone = request.Text("timeZone",
		"Its time zone; by default the server's.").WithExample("Europe/Berlin")
	fireCount = request.Number("count", "Number of fires returned.", defaultFires, 1, maxFires)
	language  = request.Choice("language", "The language of words and notes.", "en", "zh")
)

// explainCron answers while the user is still typing a cron. It needs nothing from the leader.
func (h *Handlers) explainCron(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	count, in := fireCount.Of(q), languageOf(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	config := jobs.Default()
	config.JobExecutionType, config.Cron, config.TimeZone = jobs.Transient, theCron.Of(q), theZone.Of(q)
	bad, notes := config.CheckTiming(h.jobOptions())
	if config.Cron == "" {
		bad = append(bad, document.Violate("cron", "", "is missing; give one such as 0/5 * * * * ?"))
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	return h.cronOf(config, notes, count, in)
}

// languageOf returns the language of words and notes: English, unless the query asks for Chinese.
func languageOf(q *request.Query) cron.Language {
	if language.Of(q) == "zh" {
		return cron.Chinese
	}
	return cron.English
}

// cronOf describes the cron of a job that has been checked. It returns nil if the job has no cron.
func (h *Handlers) cronOf(c jobs.Config, notes []string, count int, in cron.Language) (*cronView, error) {
	schedule, err := jobs.Schedule(c, h.Zone)
	if schedule == nil || err != nil {
		return nil, err
	}
	zone, err := jobs.Zone(c, h.Zone)
	if err != nil {
		return nil, err
	}
	v := &cronView{
		Cron: c.Cron, TimeZone: jobs.ZoneName(zone), Words: schedule.Words(in), NextFires: []fireView{},
		Notes: []string{},
	}
	v.Notes = append(v.Notes, notes...)
	for _, f := range schedule.Preview(h.Now(), count) {
		v.NextFires = append(v.NextFires,
			fireView{Time: f.At.UTC(), Local: f.At.Format(time.RFC3339), Note: f.Note(in)})
	}
	return v, nil
}
