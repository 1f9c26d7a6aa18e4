package history

import (
	"net/http"
	"slices"

	"github.com/elasticjob-go/elasticjob/api/request"
	"github.com/elasticjob-go/elasticjob/api/route"
	"github.com/elasticjob-go/elasticjob/history/search"
)

// Routes returns the routes for searches, statistics, the audit and time series. Most of them answer from recorded
// data.
func (h *Handlers) Routes() []route.Route {
	const get = http.MethodGet
	// stored is the Local of the routes that need nothing but the database. A server with a database answers them
	// itself. All other routes are forwarded to the leader, and so are these if the server has no database.
	stored := h.History != nil
	return slices.Concat(route.Group("History", []route.Route{
		{Method: get, Path: "/api/job/{jobName}/statistics", Rule: route.Viewers,
			Answer: h.fromHistory(h.jobStatistics),
			Takes:  []request.Declared{statisticsSince},
			Does:   route.Does("Returns the statistics of a job").Gives(search.JobStatistics{})},
		{Method: get, Path: "/api/job/events/executions", Rule: route.Viewers, Answer: h.fromHistory(h.runEvents),
			Local: stored,
			Takes: searchTakes(search.Runs),
			Does: route.Does("Searches the recorded runs of shards").
				Gives(search.Page[search.Run]{}).Fails(http.StatusNotFound)},
		{Method: get, Path: "/api/job/events/statusTraces", Rule: route.Viewers, Answer: h.fromHistory(h.traceEvents),
			Local: stored,
			Takes: searchTakes(search.Traces),
			Does: route.Does("Searches the recorded changes of tasks' states").
				Gives(search.Page[search.Trace]{}).Fails(http.StatusNotFound)},
		{Method: get, Path: "/api/job/statistics/tasks/results", Rule: route.ViewersOfAll,
			Answer: h.fromHistory(h.taskResults), Local: stored,
			Takes: []request.Declared{last24Hours},
			Does: route.Does("Returns how many runs succeeded and failed in each minute of the last 24 hours").
				Gives([]search.TaskResults{})},
		{Method: get, Path: "/api/job/statistics/tasks/results/{period}", Rule: route.ViewersOfAll,
			Answer: h.fromHistory(h.taskResultsOf), Local: stored,
			Does: route.Does("Returns how many runs succeeded and failed in a period: online (all recorded days), lastWeek (today and the seven days before), lastHour or lastMinute (the last full one)").
				Gives(search.TaskResults{})},
		{Method: get, Path: "/api/job/statistics/tasks/running", Rule: route.ViewersOfAll,
			Answer: h.lastWeek(History.TasksRunning), Local: stored,
			Takes: []request.Declared{sinceLastWeek},
			Does: route.Does("Returns the number of running tasks in each minute of today and the seven days before").
				Gives([]search.Running{})},
		{Method: get, Path: "/api/job/statistics/jobs/running", Rule: route.ViewersOfAll,
			Answer: h.lastWeek(History.JobsRunning), Local: stored,
			Takes: []request.Declared{sinceLastWeek},
			Does: route.Does("Returns the number of jobs with a running task in each minute of today and the seven days before").
				Gives([]search.Running{})},
		{Method: get, Path: "/api/job/statistics/jobs/register", Rule: route.ViewersOfAll,
			Answer: h.fromHistory(jobsRegistered), Local: stored,
			Does: route.Does("Returns the number of registered jobs on each day").Gives([]search.Registered{})},
	}),
		route.Group("Runs and output", []route.Route{
			{Method: get, Path: "/api/job/statistics/jobs/executionType", Rule: route.Viewers,
				Answer: h.executionTypes,
				Does:   route.Does("Counts the registered jobs by type").Gives(jobCounts{})},
		}),
		route.Group("Audit", []route.Route{
			{Method: get, Path: "/api/job/{jobName}/changes", Rule: route.Viewers, Answer: h.jobChanges,
				Takes: auditTakes("action", "limit", "cursor"),
				Does: route.Does("Lists the changes that users made to a job, the newest first").
					Gives(search.Page[ChangeRow]{}, route.WarningHeader)},
			{Method: get, Path: "/api/audit", Rule: route.AdminsOfAll, Answer: h.audit,
				Takes: auditTakes(search.AuditParameters...),
				Does: route.Does("Lists the changes that users made, the newest first").
					Gives(search.Page[AuditRow]{}, route.WarningHeader)},
		}),
		route.Group("Cluster", []route.Route{
			{Method: get, Path: "/api/overview/series", Rule: route.ViewersOfAll, Answer: h.series,
				Takes: []request.Declared{seriesRange},
				Does: route.Does("Returns numbers over time: tasks ended, launched, running and waiting, and the delay of fires").
					Gives(series{}, route.WarningHeader)},
		}))
}
