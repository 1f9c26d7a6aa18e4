package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/elasticjob-go/elasticjob/cmd/elasticjob/origin"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/internal/mysql"
	"github.com/elasticjob-go/elasticjob/internal/properties"
	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// converter reads a file of another scheduler.
type converter func(file string, text []byte, options convert.Options) (*convert.Result, error)

// importSource is a source of definitions other than a file, such as a database.
type importSource interface {
	flags(*pflag.FlagSet)
	flag() string // the flag that names the source, for errors
	given() bool  // whether the command line names the source
	read(context.Context, convert.Options) (*convert.Result, error)
}

func (a *cli) importCommand() *cobra.Command {
	return group("import", "Turn definitions of other schedulers into YAML",
		`Reads the jobs of another scheduler, and writes the YAML that apply reads to standard output. Settings without a counterpart are
reported on standard error, with their line and what to do. It needs no server and changes none. FILE may be -, standard input.`,
		a.importFrom("elasticjob-lite [FILE]", "From ElasticJob-Lite",
			`Reads the settings that are in effect, of any version, from its ZooKeeper: --zk HOSTS/NAMESPACE. Nothing is changed there. Otherwise FILE is
a YAML or properties file of its starter for Spring Boot (elasticjob.jobs), an XML file of its Spring namespace, 1.x to 3.x, or jobs'
configurations from its ZooKeeper (the nodes NAMESPACE/JOB/config), with --- between them.`, convert.Lite, &liteZooKeeper{},
			a.springFlags),
		a.importFrom("xxl-job [FILE]", "From XXL-JOB",
			`Reads the tables of its database, of MySQL or MariaDB, whatever its version: --db, or --db-file, which keeps the password off the command
line. Nothing is changed there. Otherwise FILE is a dump of its tables xxl_job_info and xxl_job_group, such as
  mysqldump xxl_job xxl_job_info xxl_job_group
makes, also of another database, or the JSON that its admin answers to /jobinfo/pageList.`, convert.XXLJob, &xxlDatabase{}, nil),
		a.importFrom("crontab FILE", "From a crontab",
			`FILE is a crontab as crontab -l prints it. With --system each command follows a user, as in /etc/crontab and /etc/cron.d,
for which --system is the default.`,
			func(file string, text []byte, o convert.Options) (*convert.Result, error) {
				return convert.Crontab(file, text, o), nil
			}, nil,
			func(cmd *cobra.Command, o *convert.Options) func() error {
				cmd.Flags().BoolVar(&o.System, "system", false, "each command has a user in front of it")
				return nil
			}))
}

// importFrom returns the command that imports from one scheduler. other is nil if jobs can be read from files only.
// more may be nil. Otherwise it adds flags of this command, and returns nil or a function that reads their values.
func (a *cli) importFrom(
	use, short, long string, convertFile converter, other importSource,
	more func(*cobra.Command, *convert.Options) (finish func() error),
) *cobra.Command {
	var o convert.Options
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Args: oneArg("FILE")}
	flags := cmd.Flags()
	flags.StringVar(&o.App, "app", "", "the app of all jobs")
	flags.StringVar(&o.AppURL, "app-url", "", "where agents fetch the app's package; without it no app is defined")
	flags.StringVar(&o.BootstrapScript, "script", "", "the command of the package that runs a shard")
	flags.Float64Var(&o.CPUCount, "cpu", 0.1, "CPU of a shard")
	flags.Float64Var(&o.MemoryMB, "memory", 128, "memory of a shard in MB")
	flags.StringVar(&o.TimeZone, "time-zone", "", "the zone of crons that name none, such as Asia/Shanghai")
	flags.BoolVar(&o.Disabled, "disabled", false,
		"disable all jobs, to try them while the other scheduler still runs them")
	var finish func() error
	if more != nil {
		finish = more(cmd, &o)
	}
	if other != nil {
		other.flags(flags)
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if other.given() {
				return noArgs(cmd, args)
			}
			if len(args) == 0 {
				return usagef("what is to be imported is missing: give a FILE, or %s", other.flag())
			}
			return oneArg("FILE")(cmd, args)
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.onlyYAML(); err != nil {
			return err
		}
		if finish != nil {
			if err := finish(); err != nil {
				return usage(err)
			}
		}
		if o.Now = a.now(); other != nil && other.given() {
			result, err := other.read(cmd.Context(), o)
			if err != nil {
				return usage(err)
			}
			return a.showImported(result)
		}
		file, err := definitions.ReadFile(args[0], a.in)
		if err != nil {
			return usage(err)
		}
		folder, _ := filepath.Split(filepath.Clean(file.Name))
		if file.Name == "/etc/crontab" || folder == "/etc/cron.d/" {
			o.System = true
		}
		result, err := convertFile(file.Name, file.Text, o)
		if err != nil {
			return usage(err)
		}
		return a.showImported(result)
	}
	return cmd
}

// showImported writes the definitions to standard output, for the next program, and the remarks to standard error, for
// the user.
func (a *cli) showImported(result *convert.Result) error {
	if len(result.Definitions) > 0 {
		text, err := definitions.Encode(result.Definitions)
		if err != nil {
			return err
		}
		if err := a.writeDefinitions(text); err != nil {
			return err
		}
	}
	for _, r := range result.Remarks {
		fmt.Fprintln(a.err, clean(r.String()))
	}
	if len(result.Definitions) == 0 {
		return usagef("nothing was found to import; \"elasticjob import --help\" lists what is read")
	}
	summary := counted(len(result.Definitions), "definition")
	if lost := result.ToDos(); lost > 0 {
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

// xxlDatabase is the database of an XXL-JOB.
type xxlDatabase struct{ dsn, file string }

func (d *xxlDatabase) flags(f *pflag.FlagSet) {
	f.StringVar(&d.dsn, "db", "", "read this database: mysql://user:password@host/database")
	f.StringVar(&d.file, "db-file", "", "read the database whose address is in this file")
}

func (d *xxlDatabase) flag() string { return "--db" }

func (d *xxlDatabase) given() bool { return d.dsn != "" || d.file != "" }

func (d *xxlDatabase) read(ctx context.Context, o convert.Options) (*convert.Result, error) {
	dsn := d.dsn
	if d.file != "" {
		if dsn != "" {
			return nil, errors.New("--db and --db-file contradict each other: give one of them")
		}
		source, err := definitions.ReadFile(d.file, nil)
		if err != nil {
			return nil, fmt.Errorf("read the address of the database: %w", err)
		}
		dsn = strings.TrimSpace(string(source.Text))
	}
	tables, others, err := origin.Tables(ctx, dsn, convert.XXLJobTableNames, "xxl_job_")
	if err != nil {
		return nil, err
	}
	return convert.XXLJobTables(mysql.Name(dsn), tables, others, o)
}

// springFlags adds the flags for variables and profiles of Spring. If several files set a variable, the last file
// counts.
func (a *cli) springFlags(cmd *cobra.Command, o *convert.Options) (finish func() error) {
	var files []string
	f := cmd.Flags()
	f.StringArrayVar(&files, "properties", nil, "a properties file with the values of ${variables}; may be repeated")
	f.StringSliceVar(&o.Profiles, "profile", nil, "a profile of Spring that is active; may be repeated")
	return func() error {
		o.Properties = map[string]string{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				text, err = textfile.Decode(text, "iso-8859-1") // the encoding of properties files that are not UTF-8
			}
			if err != nil {
				return fmt.Errorf("--properties: read %s: %w", file, err)
			}
			all, err := properties.Parse(string(text))
			if err != nil {
				return fmt.Errorf("--properties %s: %w", file, err)
			}
			for _, p := range all {
				o.Properties[p.Key] = p.Value
			}
		}
		return nil
	}
}

// liteZooKeeper is the ZooKeeper of an ElasticJob-Lite.
type liteZooKeeper struct{ address, digestFile string }

func (z *liteZooKeeper) flags(f *pflag.FlagSet) {
	f.StringVar(&z.address, "zk", "", "read this namespace in ZooKeeper: host1:2181,host2:2181/NAMESPACE")
	f.StringVar(&z.digestFile, "zk-digest-file", "", "a file with user:password for ZooKeeper")
}

func (z *liteZooKeeper) flag() string { return "--zk" }

func (z *liteZooKeeper) given() bool { return z.address != "" }

func (z *liteZooKeeper) read(ctx context.Context, o convert.Options) (*convert.Result, error) {
	digest := ""
	if z.digestFile != "" {
		source, err := definitions.ReadFile(z.digestFile, nil)
		if err != nil {
			return nil, fmt.Errorf("read the digest for ZooKeeper: %w", err)
		}
		digest = strings.TrimSpace(string(source.Text))
	}
	nodes, err := origin.LiteNodes(ctx, z.address, digest)
	if err != nil {
		return nil, err
	}
	return convert.LiteNodes(z.address, nodes, o)
}
