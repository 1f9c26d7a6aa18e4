package api

import (
	"time"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/jobs/cron"
)

// cronView is a cron in words, with its next fires.
type cronView struct {
	Cron string `json:"cron"`
	// TimeZone is the one that holds: the server's, if none was named, and "" where that has no name.
	TimeZone  string     `json:"timeZone"`
	Words     string     `json:"words"`
	NextFires []fireView `json:"nextFires"`
	Notes     []string   `json:"notes"`
}

// fireView is one of them; Note says what a clock change has to do with it.
type fireView struct {
	Time  time.Time `json:"time"`
	Local string    `json:"local"`
	Note  string    `json:"note"`
}

// Bounds of how many fires are said.
const (
	usualFires = 10
	mostFires  = 100
)

// What is asked of a cron.
var (
	theCron = textParameter("cron", "The cron, of six or seven fields.").such("0 0 3 ? * MON-FRI").needed()
	theZone = textParameter("timeZone",
		"The time zone that it is in; the server's, if it is left out.").such("Europe/Berlin")
	fireCount = numberParameter("count", "How many of its next fires are told.", usualFires, 1, mostFires)
	language  = choiceParameter("language", "The language of words and notes.", "en", "zh")
)

// explainCron answers as one types: nothing of it needs a leader.
func (s *Server) explainCron(c *gin.Context) (any, error) {
	q := queryOf(c)
	count, in := fireCount.of(q), languageOf(q)
	if err := q.err(); err != nil {
		return nil, err
	}
	config := jobs.Default()
	config.JobExecutionType, config.Cron, config.TimeZone = jobs.Transient, theCron.of(q), theZone.of(q)
	bad, notes := config.CheckTiming(s.jobOptions())
	if config.Cron == "" {
		bad = append(bad, document.Violate("cron", "", "is missing; give one such as 0/5 * * * * ?"))
	}
	if err := bad.OrNil(); err != nil {
		return nil, err
	}
	return s.cronOf(config, notes, count, in)
}

// zoneName is IANA's name of a zone, and "" of one that only this machine knows.
func zoneName(zone *time.Location) string {
	if zone == time.Local {
		return ""
	}
	return zone.String()
}

// languageOf is that of words: English, unless Chinese is asked for.
func languageOf(q *query) cron.Language {
	if language.of(q) == "zh" {
		return cron.Chinese
	}
	return cron.English
}

// cronOf puts the cron of a job, which was checked, in words; nil if it has none.
func (s *Server) cronOf(c jobs.Config, notes []string, count int, in cron.Language) (*cronView, error) {
	schedule, err := jobs.Schedule(c, s.opts.Zone)
	if schedule == nil || err != nil {
		return nil, err
	}
	zone, err := jobs.Zone(c, s.opts.Zone)
	if err != nil {
		return nil, err
	}
	v := &cronView{
		Cron: c.Cron, TimeZone: zoneName(zone), Words: schedule.Words(in), NextFires: []fireView{}, Notes: []string{},
	}
	v.Notes = append(v.Notes, notes...)
	for _, f := range schedule.Preview(s.opts.Now(), count) {
		v.NextFires = append(v.NextFires,
			fireView{Time: f.At.UTC(), Local: f.At.Format(time.RFC3339), Note: f.Note(in)})
	}
	return v, nil
}
