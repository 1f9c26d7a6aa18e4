package sim

import (
	"regexp"

	"github.com/elasticjob-go/elasticjob/jobs"
	"github.com/elasticjob-go/elasticjob/scheduler/core"
	"github.com/elasticjob-go/elasticjob/scheduler/core/views"
)

// wordInText matches the words of an encoded text that may be names.
var wordInText = regexp.MustCompile(`[\w-]+`)

// othersNamed returns the texts about an app or its jobs that contain the name of another app, or of another app's job,
// outside of an id. The API hides ids of other apps from users who may see one app only, because it knows to which app
// an id belongs. It cannot distinguish a bare name from any other word. A run that was launched before its job moved to
// another app may name the app that it was launched with, as its own.
func (ck *checker) othersNamed(c *core.Core) (found []string) {
	ranWith := map[[2]string]bool{} // jobs, each with an app
	for _, e := range ck.execs {
		if e.Settings != nil {
			ranWith[[2]string{e.Job, e.Settings.App.AppName}] = true
		}
	}
	appOf, apps := map[string]string{}, map[string]bool{}
	for _, j := range c.Views().Jobs() {
		appOf[j.JobName], apps[j.AppName] = j.AppName, true
	}
	look := func(what, job, own string, said any, err error) {
		shown := func(name string, isApp bool) bool { return isApp && name == own || !isApp && appOf[name] == own }
		text := jobs.HideIDs(encoded(said, err), "", shown)
		for _, at := range wordInText.FindAllStringIndex(text, -1) {
			word := text[at[0]:at[1]]
			if app, isJob := appOf[word]; isJob && app != own ||
				apps[word] && word != own && !ranWith[[2]string{job, word}] {
				near := text[max(0, at[0]-100):min(len(text), at[1]+100)]
				found = append(found, what+", of app "+own+", names "+word+": …"+near+"…")
			}
		}
	}
	for job, app := range appOf {
		x, err := c.Views().Explain(job)
		look("the explanation of "+job, job, app, x, err)
		row, _ := c.Views().JobRow(job)
		look("the row of "+job, job, app, row, nil)
		v, err := c.Views().Job(job)
		look("the document of "+job, job, app, v, err)
	}
	for app := range apps {
		v, err := c.Views().App(app)
		look("the document of "+app, "", app, v, err)
	}
	for _, t := range c.Views().RunningTasks() {
		if app, there := appOf[t.JobName]; there {
			look("task "+t.TaskID, t.JobName, app, t, nil)
		}
	}
	list, _ := c.Views().Executions(views.ExecutionFilter{Limit: 1 << 20})
	for _, e := range list {
		if app, there := appOf[e.JobName]; there {
			v, err := c.Views().Execution(e.ExecutionID)
			look("execution "+e.ExecutionID, e.JobName, app, v, err)
		}
	}
	for _, t := range c.Views().Facts().Problems {
		if t.App != "" {
			look("a problem of "+t.App, "", t.App, t, nil)
		}
	}
	return found
}
