package jobs

import (
	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/caller"
	"github.com/elasticjob-go/elasticjob/api/documents"
	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
	"github.com/elasticjob-go/elasticjob/scheduler/explain"
)

// jobCheck is the answer to a check: the job as it would be stored, and the present placement of its shards.
type jobCheck struct {
	Document    jobs.Config         `json:"document"`
	Notes       []string            `json:"notes"`
	NoteReasons []views.NoteView    `json:"noteReasons,omitempty"`
	Cron        *cronView           `json:"cron"`
	Placement   views.PlacementView `json:"placement"`
}

// checkJob checks a job as registering it would or, with update, as updating it would. It changes nothing.
func (h *Handlers) checkJob(c *gin.Context) (any, error) {
	q := request.QueryOf(c)
	update, lang := documents.UpdateFlag.Of(q), languageOf(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	check, notes, err := h.runJobCheck(c, update)
	if err != nil {
		return nil, err
	}
	_, cronNotes := check.Job.Config.CheckTiming(h.jobOptions())
	cron, err := h.describeCron(check.Job.Config, cronNotes, defaultFires, lang)
	allNotes := check.Job.After(notes)
	return jobCheck{
		Document: check.Job.Config.WithoutSecrets(), Notes: append([]string{}, allNotes.Notes...),
		NoteReasons: allNotes.NoteReasons, Cron: cron, Placement: check.Placement,
	}, err
}

// runJobCheck reads the document as registering or updating a job does, and checks it with the scheduler.
func (h *Handlers) runJobCheck(c *gin.Context, update bool) (check views.JobCheck, notes []string, err error) {
	ctx := c.Request.Context()
	if update {
		body, name, err := h.documents.ChangeBody(c)
		if err != nil {
			return check, nil, err
		}
		check, err = caller.Read(ctx, h.Scheduler, func(r explain.Reader) (views.JobCheck, error) {
			return r.CheckJobUpdate(name, func(stored jobs.Config) (changed jobs.Config, err error) {
				changed, notes, err = h.documents.Read(body, stored)
				return changed, err
			})
		})
		return check, notes, err
	}
	body, err := request.Body(c)
	if err != nil {
		return check, nil, err
	}
	config, notes, err := h.documents.Read(body, jobs.Default())
	if err != nil {
		return check, nil, err
	}
	check, err = caller.ReadWith(ctx, h.Scheduler, explain.Reader.CheckJob, config)
	return check, notes, err
}
