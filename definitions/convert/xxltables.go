package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/definitions/convert/sqldump"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// Columns of XXL-JOB's tables, for dumps that do not name them. Those named old are of versions before 2.3.
var (
	xxlColumns = []string{"id", "job_group", "job_desc", "add_time", "update_time", "author", "alarm_email",
		"schedule_type", "schedule_conf", "misfire_strategy", "executor_route_strategy", "executor_handler",
		"executor_param", "executor_block_strategy", "executor_timeout", "executor_fail_retry_count", "glue_type",
		"glue_source", "glue_remark", "glue_updatetime", "child_jobid", "trigger_status", "trigger_last_time",
		"trigger_next_time"}
	xxlOldColumns = []string{"id", "job_group", "job_cron", "job_desc", "add_time", "update_time", "author",
		"alarm_email", "executor_route_strategy", "executor_handler", "executor_param", "executor_block_strategy",
		"executor_timeout", "executor_fail_retry_count", "glue_type", "glue_source", "glue_remark", "glue_updatetime",
		"child_jobid", "trigger_status", "trigger_last_time", "trigger_next_time"}
	xxlGroupColumns    = []string{"id", "app_name", "title", "address_type", "address_list", "update_time"}
	xxlOldGroupColumns = []string{"id", "app_name", "title", "order", "address_type", "address_list"}
	xxlTriggerColumns  = []string{"sched_name", "trigger_name", "trigger_group", "job_name", "job_group", "description",
		"next_fire_time", "prev_fire_time", "priority", "trigger_state", "trigger_type", "start_time", "end_time",
		"calendar_name", "misfire_instr", "job_data"}
	xxlCronColumns     = []string{"sched_name", "trigger_name", "trigger_group", "cron_expression", "time_zone_id"}
	xxlRegistryColumns = []string{"id", "registry_group", "registry_key", "registry_value", "update_time"}
)

// xxlColumnsOf returns the columns of a table. It recognizes the version of the table by the values of a row, and
// returns nil if it knows no such table.
func xxlColumnsOf(table string, values []string) []string {
	sets := map[string][][]string{
		"xxl_job_info":               {xxlColumns, xxlOldColumns},
		"xxl_job_qrtz_trigger_info":  {xxlOldColumns[:19]},
		"xxl_job_group":              {xxlGroupColumns},
		"xxl_job_qrtz_trigger_group": {xxlOldGroupColumns},
		"xxl_job_qrtz_triggers":      {xxlTriggerColumns},
		"xxl_job_qrtz_cron_triggers": {xxlCronColumns},
		"xxl_job_registry":           {xxlRegistryColumns},
	}[table]
	if table == "xxl_job_group" && len(values) == len(xxlOldGroupColumns) && (values[4] == "0" || values[4] == "1") {
		return xxlOldGroupColumns // the fifth column is a type, and not a list of addresses
	}
	for _, columns := range sets {
		if len(columns) == len(values) {
			return columns
		}
	}
	return nil
}

// XXLJobTableNames are the names of the tables that XXLJobTables reads, in lower case.
var XXLJobTableNames = []string{"xxl_job_info", "xxl_job_qrtz_trigger_info", "xxl_job_group",
	"xxl_job_qrtz_trigger_group", "xxl_job_qrtz_triggers", "xxl_job_qrtz_cron_triggers", "xxl_job_registry"}

// xxlState is the state of a job in Quartz's tables, which versions before 2.1 use.
type xxlState struct {
	paused bool
	zone   string
}

// tables reads the tables of XXL-JOB, and returns its jobs.
func (x *xxl) tables(all map[string]*sqldump.Table) (infos []record) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows := all[name].Rows
		switch {
		case name == "xxl_job_info", name == "xxl_job_qrtz_trigger_info":
			for _, row := range rows {
				infos = append(infos, recordOf(row))
			}
		case name == "xxl_job_group", name == "xxl_job_qrtz_trigger_group":
			for _, row := range rows {
				x.groups[row.Values["id"].Text] = recordOf(row)
			}
		case name == "xxl_job_registry":
			for _, row := range rows {
				if row.Values["registry_group"].Text == "EXECUTOR" {
					x.live[row.Values["registry_key"].Text]++
				}
			}
		case name == "xxl_job_qrtz_triggers", name == "xxl_job_qrtz_cron_triggers":
			x.quartz(rows)
		case len(rows) > 0:
			x.leaveTable(rows[0].Line, name, fmt.Sprintf(", with %d rows,", len(rows)))
		}
	}
	return infos
}

// recordOf returns the record of a row.
func recordOf(row *sqldump.Row) record {
	r := record{row.Line, map[string]setting{}}
	for column, value := range row.Values {
		r.settings[plainKey(column)] = setting{value.Text, row.Line, column, value.Unknown}
	}
	return r
}

// quartz reads the states of jobs and the time zones of their crons from rows of Quartz's tables.
func (x *xxl) quartz(rows []*sqldump.Row) {
	if x.states == nil {
		x.states = map[string]xxlState{}
	}
	for _, row := range rows {
		id := row.Values["trigger_name"].Text
		state := x.states[id]
		if s := row.Values["trigger_state"].Text; s != "" {
			state.paused = strings.HasPrefix(s, "PAUSED")
		}
		if zone := row.Values["time_zone_id"].Text; zone != "" {
			state.zone = jobs.JavaZone(zone)
		}
		x.states[id] = state
	}
}

// leaveTable adds a remark about a table that is not converted. rows is a text about its rows, or "".
func (x *xxl) leaveTable(line int, name, rows string) {
	switch {
	case name == "xxl_job_user":
		x.toDo(line, "", "the table %s%s is left out: give its people access with \"scheduler user\"", name, rows)
	case name == "xxl_job_log", name == "xxl_job_log_report", name == "xxl_job_qrtz_trigger_log":
		x.note(line, "", "the table %s%s is left out: it is the history of runs", name, rows)
	case name == "xxl_job_logglue", name == "xxl_job_qrtz_trigger_logglue":
		x.note(line, "", "the table %s%s is left out: it has earlier versions of scripts", name, rows)
	case name == "xxl_job_lock", name == "xxl_job_registry", name == "xxl_job_qrtz_trigger_registry",
		strings.HasPrefix(name, "xxl_job_qrtz_"):
		x.note(line, "", "the table %s%s is left out: it is for XXL-JOB's own work", name, rows)
	default:
		x.toDo(line, "", "the table %s%s is not known, and is left out", name, rows)
	}
}
