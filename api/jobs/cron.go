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
	// TimeZone is the effective time zone: that of the request, or else the server's. It is "" if the zone has no
	// name.
	TimeZone  string     `json:"timeZone"`
	Words     string     `json:"words"`
	NextFires []fireView `json:"nextFires"`
	Notes     []string   `json:"notes"`
}

// fireView is one fire. Note explains how a clock change affects the fire, or is "".
type fireView struct {
	Time  time.Time `json:"time"`
	Local string    `json:"local"`
	Note  string    `json:"note"`
}

// These are the default and the maximum number of fires in an answer.
const (
	defaultFires = 10
	maxFires     = 100
)

// These are the parameters of the explanation of a cron.
var (
	cronText = request.Text("cron", "The cron, of six or seven fields.").
			WithExample("0 0 3 ? * MON-FRI").Mandatory()
	cronZone  = request.Text("timeZone", "Its time zone; by default the server's.").WithExample("Europe/Berlin")
	fireCount = request.Number("count", "Number of fires returned.", defaultFires, 1, maxFires)
	language  = request.Choice("language", "The language of words and notes.", "en", "zh")
)

// explainCron describes a cron, also while a user is still typing it. It does not require the leader.
func (h *Handlers) explainCron(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	count, lang := fireCount.Of(q), languageOf(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	config := jobs.Default()
	config.JobExecutionType, config.Cron, config.TimeZone = jobs.Transient, cronText.Of(q), cronZone.Of(q)
	violations, notes := config.CheckTiming(h.jobOptions())
	if config.Cron == "" {
		violations = append(violations, document.Violate("cron", "", "is missing; give one such as 0/5 * * * * ?"))
	}
	if err := violations.OrNil(); err != nil {
		return nil, err
	}
	return h.describeCron(config, notes, count, lang)
}

// languageOf returns the language of words and notes: English, unless the query asks for Chinese.
func languageOf(q *request.Query) cron.Language {
	if language.Of(q) == "zh" {
		return cron.Chinese
	}
	return cron.English
}

// describeCron describes the cron of a checked job with its next fires, at most count. notes are the notes of the
// check. It returns nil if the job has no cron.
func (h *Handlers) describeCron(c jobs.Config, notes []string, count int, lang cron.Language) (*cronView, error) {
	schedule, err := jobs.Schedule(c, h.Zone)
	if schedule == nil || err != nil {
		return nil, err
	}
	zone, err := jobs.Zone(c, h.Zone)
	if err != nil {
		return nil, err
	}
	v := &cronView{
		Cron: c.Cron, TimeZone: jobs.ZoneName(zone), Words: schedule.Words(lang), NextFires: []fireView{},
		Notes: []string{},
	}
	v.Notes = append(v.Notes, notes...)
	for _, f := range schedule.Preview(h.Now(), count) {
		v.NextFires = append(v.NextFires,
			fireView{Time: f.At.UTC(), Local: f.At.Format(time.RFC3339), Note: f.Note(lang)})
	}
	return v, nil
}
