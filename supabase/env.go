package supabase

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"forklift/engine"
)

// What the CLI calls the values of its status.
const (
	apiURL         = "API_URL"
	dbURL          = "DB_URL"
	publishableKey = "PUBLISHABLE_KEY"
	anonKey        = "ANON_KEY"
	secretKey      = "SECRET_KEY"
	serviceRoleKey = "SERVICE_ROLE_KEY"
	jwtSecret      = "JWT_SECRET"
)

// preset is a framework that shows variables with a prefix to browsers.
type preset struct {
	name   string // in .forklift.json
	pkg    string // on npm
	prefix string
}

var presets = []preset{
	{"next", "next", "NEXT_PUBLIC_"},
	{"vite", "vite", "VITE_"},
	{"sveltekit", "@sveltejs/kit", "PUBLIC_"},
	{"nuxt", "nuxt", "NUXT_PUBLIC_"},
	{"expo", "expo", "EXPO_PUBLIC_"},
}

// publicPrefixes begin the names of variables that end up in what browsers and
// phones are sent, by the frameworks of the presets and by others.
var publicPrefixes = []string{"REACT_APP_", "GATSBY_", "VUE_APP_", "STORYBOOK_", "NX_PUBLIC_", "PUBLIC_", "RSBUILD_PUBLIC_"}

func presetNames() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

// publicName reports a variable that browsers get to see.
func publicName(variable string) bool {
	upper := strings.ToUpper(variable)
	for _, p := range presets {
		if strings.HasPrefix(upper, p.prefix) {
			return true
		}
	}
	return slices.ContainsFunc(publicPrefixes, func(prefix string) bool { return strings.HasPrefix(upper, prefix) })
}

// secretValue reports a value that gives more than a visitor may have. What is
// not known to be harmless is taken for secret.
func secretValue(name string) bool {
	switch name {
	case publishableKey, anonKey:
		return false
	}
	return name == dbURL || !strings.HasSuffix(name, "_URL") && !strings.HasSuffix(name, "_REGION")
}

// plainNames are the variables that every command is given, where the CLI's
// status has the value.
var plainNames = []struct{ variable, value string }{
	{"SUPABASE_URL", apiURL},
	{"SUPABASE_PUBLISHABLE_KEY", publishableKey},
	{"SUPABASE_ANON_KEY", anonKey},
	{"SUPABASE_SECRET_KEY", secretKey},
	{"SUPABASE_SERVICE_ROLE_KEY", serviceRoleKey},
	{"SUPABASE_DB_URL", dbURL},
	{"SUPABASE_JWT_SECRET", jwtSecret},
}

// presetNamesOf are the variables of a preset: only what visitors may have.
var presetNamesOf = []struct{ suffix, value string }{
	{"SUPABASE_URL", apiURL},
	{"SUPABASE_PUBLISHABLE_KEY", publishableKey},
	{"SUPABASE_ANON_KEY", anonKey},
}

// The variables that lead the user's own CLI to the stack.
const (
	homeVariable    = "SUPABASE_HOME"
	workdirVariable = "SUPABASE_WORKDIR"
	stackVariable   = "SUPABASE_EXPERIMENTAL_STACK"
)

// reserved reports a variable that the user's own CLI is led with.
func reserved(variable string) bool {
	return slices.Contains([]string{homeVariable, workdirVariable, stackVariable}, variable)
}

// variables are what a managed command is given of values, which the CLI's
// status shows. connectionEnv is the variable for the database's address.
func (o Options) variables(values map[string]string, connectionEnv string) []engine.EnvVar {
	vars := map[string]engine.EnvVar{}
	add := func(variable, value string) {
		if text, ok := values[value]; ok && variable != "" {
			vars[variable] = engine.EnvVar{Name: variable, Value: text, Secret: secretValue(value)}
		}
	}
	for _, n := range plainNames {
		add(n.variable, n.value)
	}
	chosen := o.Presets
	if chosen == nil {
		chosen = []string{presets[0].name}
	}
	for _, p := range presets {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		for _, n := range presetNamesOf {
			add(p.prefix+n.suffix, n.value)
		}
	}
	add(connectionEnv, dbURL)
	for variable, value := range o.Env {
		add(variable, value)
	}
	list := make([]engine.EnvVar, 0, len(vars))
	for _, v := range vars {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b engine.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
	// The database's address comes first, as for every kind.
	slices.SortStableFunc(list, func(a, b engine.EnvVar) int {
		return cmp.Compare(rank(a.Name == connectionEnv), rank(b.Name == connectionEnv))
	})
	return list
}

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// libpq are the variables of PostgreSQL's own programs for the address of a
// database.
func libpq(address string) []engine.EnvVar {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	password, _ := u.User.Password()
	return []engine.EnvVar{
		{Name: "PGHOST", Value: u.Hostname()},
		{Name: "PGPORT", Value: u.Port()},
		{Name: "PGUSER", Value: u.User.Username()},
		{Name: "PGPASSWORD", Value: password, Secret: true},
		{Name: "PGDATABASE", Value: strings.TrimPrefix(u.Path, "/")},
	}
}
