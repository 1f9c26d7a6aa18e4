package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
)

// converter reads a file of another scheduler.
type converter func(file string, text []byte, options convert.Options) (*convert.Result, error)

func (a *cli) importCommand() *cobra.Command {
	return group("import", "Turn definitions of other schedulers into YAML",
		`Reads the jobs of another scheduler, and writes the YAML that apply reads to standard output. Settings without a counterpart are
reported on standard error, with their line and what to do. It needs no server and changes none. FILE may be -, standard input.`,
		a.importFrom("elasticjob-lite FILE", "From ElasticJob-Lite",
			`FILE is a YAML file of its starter for Spring Boot (elasticjob.jobs), an XML file of its Spring namespace, 2.x or 3.x, or jobs'
configurations from its ZooKeeper (the nodes NAMESPACE/JOB/config), with --- between them.`, convert.Lite, nil),
		a.importFrom("xxl-job FILE", "From XXL-JOB",
			`FILE is a dump of its tables xxl_job_info and xxl_job_group, such as
  mysqldump --complete-insert xxl_job xxl_job_info xxl_job_group
makes, or the JSON that its admin answers to /jobinfo/pageList.`, convert.XXLJob, nil),
		a.importFrom("crontab FILE", "From a crontab",
			`FILE is a crontab as crontab -l prints it. With --system each command follows a user, as in /etc/crontab and /etc/cron.d,
for which --system is the default.`,
			func(file string, text []byte, o convert.Options) (*convert.Result, error) {
				return convert.Crontab(file, text, o), nil
			},
			func(cmd *cobra.Command, o *convert.Options) {
				cmd.Flags().BoolVar(&o.System, "system", false, "each command has a user in front of it")
			}))
}

func (a *cli) importFrom(use, short, long string, convertFile converter,
	more func(*cobra.Command, *convert.Options)) *cobra.Command {
	var o convert.Options
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: oneArg("FILE")}
	flags := cmd.Flags()
	flags.StringVar(&o.App, "app", "", "the app of all jobs")
	flags.StringVar(&o.AppURL, "app-url", "", "where agents fetch the app's package; without it no app is defined")
	flags.StringVar(&o.BootstrapScript, "script", "", "the command of the package that runs a shard")
	flags.Float64Var(&o.CPUCount, "cpu", 0.1, "CPU of a shard")
	flags.Float64Var(&o.MemoryMB, "memory", 128, "memory of a shard in MB")
	flags.StringVar(&o.TimeZone, "time-zone", "", "the zone of crons that name none, such as Asia/Shanghai")
	if more != nil {
		more(cmd, &o)
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := a.onlyYAML(); err != nil {
			return err
		}
		source, err := definitions.ReadFile(args[0], a.in)
		if err != nil {
			return usage(err)
		}
		o.Now = a.now()
		if folder, _ := filepath.Split(filepath.Clean(source.Name)); source.Name == "/etc/crontab" ||
			folder == "/etc/cron.d/" {
			o.System = true
		}
		result, err := convertFile(source.Name, source.Text, o)
		if err != nil {
			return usage(err)
		}
		return a.showImported(result)
	}
	return cmd
}

// showImported writes the definitions to standard output for the next program, and the remarks to standard error for
// the user.
func (a *cli) showImported(result *convert.Result) error {
	text, err := definitions.Encode(result.Definitions)
	if err != nil {
		return err
	}
	if err := a.writeDefinitions(text); err != nil {
		return err
	}
	for _, r := range result.Remarks {
		fmt.Fprintln(a.err, clean(r.String()))
	}
	if len(result.Definitions) == 0 {
		return usagef("nothing was found to import")
	}
	summary := counted(len(result.Definitions), "definition")
	if lost := result.Lost(); lost > 0 {
		summary += "; " + counted(lost, "thing") + " to do, marked TO DO above"
	}
	fmt.Fprintln(a.err, summary)
	return nil
}

// counted returns a number with its noun.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
