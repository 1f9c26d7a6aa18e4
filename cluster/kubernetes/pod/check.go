package pod

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/elasticjob-go/elasticjob/internal/document"
)

// field is the app's field for the template. All paths in violations begin with it.
const field = "podTemplate"

// MaxTemplateBytes limits the size of a template, because each of the app's pods contains all of it.
const MaxTemplateBytes = 64 << 10

// ReadTemplate parses the installation's template, which is YAML or JSON with the fields metadata and spec of a
// PodTemplateSpec. It returns the template as JSON. The error for an invalid template contains the violations.
func ReadTemplate(doc []byte) ([]byte, error) {
	template, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return nil, fmt.Errorf("read the pod template: %w", err)
	}
	if err := Check(template).OrNil(); err != nil {
		return nil, fmt.Errorf("the pod template can't be used: %w", err)
	}
	return template, nil
}

// Check returns the violations of the installation's template in JSON, sorted by field and at most maxViolations. A
// violation is an unknown field, a value of a wrong type or form, a reference to something that does not exist, or a
// field that the scheduler controls. Check cannot find out what only the API server knows, such as whether a volume's
// claim exists.
func Check(template []byte) document.Violations { return Settings{}.Check(template) }

// Check returns the violations of an app's template. It is like the function Check, but the template may refer to
// volumes and containers of the installation's template.
func (s Settings) Check(template []byte) document.Violations {
	if len(template) > MaxTemplateBytes {
		return document.Violations{document.Violate(field, "", "is longer than %d KiB", MaxTemplateBytes>>10)}
	}
	tree, err := readTree(template)
	if err != nil {
		return document.Violations{document.Violate(field, "", "is not JSON: %s", err)}
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return document.Violations{document.Violate(field, "",
			"an object with metadata and spec is expected, found %s", found(tree))}
	}
	c := &fieldCheck{unsure: map[string]bool{}}
	c.checkControlled(object)
	var own, base corev1.PodTemplateSpec
	good, err := json.Marshal(c.checkValue(field, object, reflect.TypeFor[corev1.PodTemplateSpec]()))
	if err == nil {
		err = json.Unmarshal(good, &own)
	}
	if err == nil && len(s.Template) > 0 {
		err = json.Unmarshal(s.Template, &base)
	}
	if err != nil {
		c.violate(field, "", "can't be read: %s", err)
		return c.bad
	}
	c.checkMetadata(&own)
	c.checkPlacement(&own.Spec)
	c.checkVolumes(&own.Spec, &base.Spec)
	c.checkContainers(&own.Spec, &base.Spec)
	slices.SortStableFunc(c.bad, func(a, b document.Violation) int { return cmp.Compare(a.Field, b.Field) })
	return c.bad
}

// controlledFields holds the fields that a template cannot set, because the scheduler controls them. It maps a field's
// path within the template to the reason.
var controlledFields = map[string]string{
	"spec.nodeName":                      "the scheduler places shards; choose nodes with nodeSelector",
	"spec.schedulerName":                 "the scheduler itself binds the pods of shards",
	"spec.schedulingGates":               "the scheduler decides when shards run",
	"spec.restartPolicy":                 "each attempt of a shard is a pod of its own; the job decides about further attempts (maxRetries, failover)",
	"spec.terminationGracePeriodSeconds": "it follows from the job's kill grace",
	"spec.resources":                     shardResources,
	"spec.resourceClaims":                "devices are not considered when shards are placed",
	"spec.overhead":                      "it is not considered when shards are placed",
	"spec.ephemeralContainers":           "they are added to running pods, with kubectl debug",
	"spec.topologySpreadConstraints":     "the scheduler decides how shards are spread",
	"spec.affinity.podAffinity":          "the scheduler does not place shards relative to other pods",
	"spec.affinity.podAntiAffinity":      "the scheduler does not place shards relative to other pods",
	"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution": "preferences are not considered when shards are placed; use required rules",
}

const shardResources = "the job sets a shard's resources: cpuCount and memoryMB"

// controlledContainerFields is the same for the fields of the containers that the scheduler creates.
var controlledContainerFields = map[string]string{
	"image":                    "it is a field of the app: image",
	"imagePullPolicy":          "it is a field of the app: imagePullPolicy",
	"command":                  "the executor runs the job: its command is the app's bootstrapScript",
	"args":                     "the executor runs the job: its command is the app's bootstrapScript",
	"resources":                shardResources,
	"resizePolicy":             shardResources,
	"restartPolicy":            "each attempt of a shard is a pod of its own",
	"restartPolicyRules":       "each attempt of a shard is a pod of its own",
	"terminationMessagePath":   "the executor reports there how the job ended",
	"terminationMessagePolicy": "the executor reports there how the job ended",
	"tty":                      "the executor writes records for the scheduler into the output",
	"stdin":                    "jobs have no input",
	"stdinOnce":                "jobs have no input",
}

// checkControlled reports the fields that the scheduler controls. It reads the unparsed template, so that it finds them
// even if the template has other violations.
func (c *fieldCheck) checkControlled(template map[string]any) {
	for _, path := range sorted(controlledFields) {
		if value, given := lookup(template, strings.Split(path, ".")); given {
			c.violate(field+"."+path, value, "can't be set: %s", controlledFields[path])
		}
	}
	if metadata, ok := template["metadata"].(map[string]any); ok {
		for _, name := range sorted(metadata) {
			if name != "labels" && name != "annotations" {
				c.violate(field+".metadata."+name, metadata[name],
					"can't be set: an app's metadata has labels and annotations only")
			}
		}
	}
	for _, path := range []string{"spec", "spec.containers", "spec.initContainers"} {
		if isNull(template, strings.Split(path, ".")) {
			c.violate(field+"."+path, nil,
				"can't be null: that would remove the scheduler's own part of the pod; leave it out")
		}
	}
	spec, _ := template["spec"].(map[string]any)
	for _, ours := range [][2]string{{"containers", Container}, {"initContainers", Prepare}} {
		list, name := ours[0], ours[1]
		containers, _ := spec[list].([]any)
		for i := range containers {
			container, _ := containers[i].(map[string]any)
			if container["name"] != name {
				continue
			}
			for _, key := range sorted(container) {
				if why := controlledContainerFields[key]; why != "" {
					c.violate(fmt.Sprintf("%s.spec.%s[%d].%s", field, list, i, key), container[key],
						"can't be set: %s", why)
				}
			}
		}
	}
}

// lookup returns the value at a path of a tree. A null value counts as missing.
func lookup(tree any, path []string) (value any, given bool) {
	for _, name := range path {
		object, _ := tree.(map[string]any)
		tree = object[name]
	}
	return tree, tree != nil
}

// isNull reports whether a path of a tree holds an explicit null. In a template, null removes the value onto which the
// template is merged.
func isNull(tree map[string]any, path []string) bool {
	value, given := tree[path[0]]
	if len(path) == 1 {
		return given && value == nil
	}
	below, _ := value.(map[string]any)
	return isNull(below, path[1:])
}

// checkMetadata checks the names and values of labels and the names of annotations.
func (c *fieldCheck) checkMetadata(t *corev1.PodTemplateSpec) {
	check := func(kind string, entries map[string]string, invalid func(string) []string) {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			path := fmt.Sprintf("%s.metadata.%s.%s", field, kind, key)
			switch wrong := validation.IsQualifiedName(strings.ToLower(key)); {
			case strings.HasPrefix(key, "elasticjob/"):
				c.violate(path, entries[key], "can't be set: the scheduler sets all names that begin with elasticjob/")
			case len(wrong) > 0:
				c.violate(path, entries[key], "is not a valid name in %s: %s", kind, wrong[0])
			default:
				for _, why := range invalid(entries[key]) {
					c.violate(path, entries[key], "%s", why)
				}
			}
		}
	}
	check("labels", t.Labels, validation.IsValidLabelValue)
	check("annotations", t.Annotations, func(string) []string { return nil })
}
