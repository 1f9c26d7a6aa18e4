package pod

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// enumValues maps enumerated types to their values. An empty value, which stands for the default, is not listed.
var enumValues = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PullPolicy]():           {"Always", "IfNotPresent", "Never"},
	reflect.TypeFor[corev1.Protocol]():             {"TCP", "UDP", "SCTP"},
	reflect.TypeFor[corev1.URIScheme]():            {"HTTP", "HTTPS"},
	reflect.TypeFor[corev1.DNSPolicy]():            {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
	reflect.TypeFor[corev1.TaintEffect]():          {"NoSchedule", "PreferNoSchedule", "NoExecute"},
	reflect.TypeFor[corev1.TolerationOperator]():   {"Equal", "Exists"},
	reflect.TypeFor[corev1.NodeSelectorOperator](): {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"},
	reflect.TypeFor[corev1.HostPathType](): {"DirectoryOrCreate", "Directory", "FileOrCreate", "File",
		"Socket", "CharDevice", "BlockDevice"},
	reflect.TypeFor[corev1.MountPropagationMode](): {"None", "HostToContainer", "Bidirectional"},
	reflect.TypeFor[corev1.SeccompProfileType]():   {"RuntimeDefault", "Localhost", "Unconfined"},
}

// requiredFields maps types to the fields that the API server requires. Fields of a container are not listed, because
// the installation's template may already set them.
var requiredFields = map[reflect.Type][]string{
	reflect.TypeFor[corev1.Volume]():                            {"name"},
	reflect.TypeFor[corev1.VolumeMount]():                       {"name", "mountPath"},
	reflect.TypeFor[corev1.EnvVar]():                            {"name"},
	reflect.TypeFor[corev1.ContainerPort]():                     {"containerPort"},
	reflect.TypeFor[corev1.HostAlias]():                         {"ip"},
	reflect.TypeFor[corev1.ConfigMapVolumeSource]():             {"name"},
	reflect.TypeFor[corev1.ConfigMapProjection]():               {"name"},
	reflect.TypeFor[corev1.SecretProjection]():                  {"name"},
	reflect.TypeFor[corev1.ConfigMapEnvSource]():                {"name"},
	reflect.TypeFor[corev1.SecretEnvSource]():                   {"name"},
	reflect.TypeFor[corev1.ConfigMapKeySelector]():              {"name", "key"},
	reflect.TypeFor[corev1.SecretKeySelector]():                 {"name", "key"},
	reflect.TypeFor[corev1.ObjectFieldSelector]():               {"fieldPath"},
	reflect.TypeFor[corev1.ResourceFieldSelector]():             {"resource"},
	reflect.TypeFor[corev1.KeyToPath]():                         {"key", "path"},
	reflect.TypeFor[corev1.SecretVolumeSource]():                {"secretName"},
	reflect.TypeFor[corev1.HostPathVolumeSource]():              {"path"},
	reflect.TypeFor[corev1.PersistentVolumeClaimVolumeSource](): {"claimName"},
	reflect.TypeFor[corev1.NFSVolumeSource]():                   {"server", "path"},
	reflect.TypeFor[corev1.CSIVolumeSource]():                   {"driver"},
	reflect.TypeFor[corev1.ServiceAccountTokenProjection]():     {"path"},
	reflect.TypeFor[corev1.DownwardAPIVolumeFile]():             {"path"},
	reflect.TypeFor[corev1.NodeSelector]():                      {"nodeSelectorTerms"},
	reflect.TypeFor[corev1.NodeSelectorRequirement]():           {"key", "operator"},
}

// validators maps types to the validators of their text fields. Only the first error of a validator is reported.
var validators = map[reflect.Type]map[string]func(string) []string{
	reflect.TypeFor[corev1.Volume]():                        {"name": validation.IsDNS1123Label},
	reflect.TypeFor[corev1.Container]():                     {"name": validation.IsDNS1123Label, "image": trimmed},
	reflect.TypeFor[corev1.EnvVar]():                        {"name": validation.IsRelaxedEnvVarName},
	reflect.TypeFor[corev1.EnvFromSource]():                 {"prefix": validation.IsRelaxedEnvVarName},
	reflect.TypeFor[corev1.ContainerPort]():                 {"name": validation.IsValidPortName},
	reflect.TypeFor[corev1.ConfigMapKeySelector]():          {"key": validation.IsConfigMapKey},
	reflect.TypeFor[corev1.SecretKeySelector]():             {"key": validation.IsConfigMapKey},
	reflect.TypeFor[corev1.KeyToPath]():                     {"key": validation.IsConfigMapKey, "path": relativePath},
	reflect.TypeFor[corev1.VolumeMount]():                   {"subPath": relativePath, "subPathExpr": relativePath},
	reflect.TypeFor[corev1.HostPathVolumeSource]():          {"path": noParentSegments},
	reflect.TypeFor[corev1.ServiceAccountTokenProjection](): {"path": relativePath},
	reflect.TypeFor[corev1.DownwardAPIVolumeFile]():         {"path": relativePath},
	reflect.TypeFor[corev1.NodeSelectorRequirement]():       {"key": validation.IsQualifiedName},
	reflect.TypeFor[corev1.Toleration](): {"key": validation.IsQualifiedName,
		"value": validation.IsValidLabelValue},
	reflect.TypeFor[corev1.HostAlias](): {"ip": func(ip string) []string {
		if len(validation.IsValidIP(nil, ip)) > 0 {
			return []string{"is not an IP address"}
		}
		return nil
	}},
	reflect.TypeFor[corev1.PodSpec](): {
		"serviceAccountName": validation.IsDNS1123Subdomain, "serviceAccount": validation.IsDNS1123Subdomain,
		"priorityClassName": validation.IsDNS1123Subdomain,
		"runtimeClassName":  validation.IsDNS1123Subdomain, "hostname": validation.IsDNS1123Label,
		"subdomain": validation.IsDNS1123Label,
	},
}

// exclusiveFields maps types to fields of which an object may set at most one. If required is set, the object must set
// one of them. It is not set for objects that may lack all of them: an object is merged onto the one in the
// installation's template, which may already have such a field.
var exclusiveFields = map[reflect.Type]struct {
	names    []string
	required bool
}{
	reflect.TypeFor[corev1.EnvVarSource]():     {fieldNames[corev1.EnvVarSource](), true},
	reflect.TypeFor[corev1.EnvVar]():           {[]string{"value", "valueFrom"}, false},
	reflect.TypeFor[corev1.EnvFromSource]():    {[]string{"configMapRef", "secretRef"}, true},
	reflect.TypeFor[corev1.VolumeProjection](): {fieldNames[corev1.VolumeProjection](), false},
	reflect.TypeFor[corev1.Volume]():           {fieldNames[corev1.VolumeSource](), false},
	reflect.TypeFor[corev1.Probe]():            {fieldNames[corev1.ProbeHandler](), false},
	reflect.TypeFor[corev1.LifecycleHandler](): {fieldNames[corev1.LifecycleHandler](), false},
	reflect.TypeFor[corev1.VolumeMount]():      {[]string{"subPath", "subPathExpr"}, false},
}

// fieldNames returns the JSON names of a struct's fields.
func fieldNames[T any]() []string {
	known := map[string]reflect.Type{}
	fieldsOf(reflect.TypeFor[T](), known)
	return sorted(known)
}

func trimmed(text string) []string {
	if strings.TrimSpace(text) != text {
		return []string{"begins or ends with white space"}
	}
	return nil
}

func noParentSegments(path string) []string {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return []string{"must not contain '..'"}
	}
	return nil
}

func relativePath(path string) []string {
	if strings.HasPrefix(path, "/") {
		return []string{"must be a relative path"}
	}
	return noParentSegments(path)
}

// checkEnum checks the value if its type is enumerated.
func (c *fieldCheck) checkEnum(path string, value any, t reflect.Type) {
	if text, _ := value.(string); text != "" && enumValues[t] != nil && !slices.Contains(enumValues[t], text) {
		c.violate(path, text, "must be %s", joinOr(enumValues[t]))
	}
}

// checkConstraints checks the parsed fields of an object against requiredFields, validators and exclusiveFields.
func (c *fieldCheck) checkConstraints(path string, good map[string]any, t reflect.Type) {
	for _, name := range requiredFields[t] {
		if empty(good[name]) {
			c.missing(path, name, "is missing")
		}
	}
	for _, name := range sorted(validators[t]) {
		if text, _ := good[name].(string); text != "" {
			if wrong := validators[t][name](text); len(wrong) > 0 {
				c.violate(path+"."+name, text, "%s", wrong[0])
			}
		}
	}
	if exclusive, ok := exclusiveFields[t]; ok {
		given := slices.DeleteFunc(slices.Clone(exclusive.names),
			func(name string) bool { return good[name] == nil || good[name] == "" })
		switch {
		case len(given) > 1:
			c.violate(path, nil, "has %s, but may have only one of them", strings.Join(given, " and "))
		case len(given) == 0 && exclusive.required && !c.unsure[path]:
			c.violate(path, nil, "needs one of %s", strings.Join(exclusive.names, ", "))
		}
	}
}

// missing records that an object lacks a field. It does nothing if the object has an unknown field, which may be the
// missing one with a misspelt name.
func (c *fieldCheck) missing(path, name, format string, args ...any) {
	if !c.unsure[path] {
		c.violate(path+"."+name, nil, format, args...)
	}
}

// empty reports whether the API server treats a value as missing.
func empty(value any) bool {
	list, isList := value.([]any)
	return value == nil || value == "" || isList && len(list) == 0 || fmt.Sprint(value) == "0"
}

// joinOr joins two or more words: "a, b or c".
func joinOr(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
