package secrets_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/internal/secrets"
)

// secretTexts are texts with secrets, each written between « and ».
var secretTexts = []string{
	// Flags.
	"run --password «hunter2» --host h", "run --password=«hunter2»", "run --db-password=«hunter2» x", "run -password «hunter2»",
	"run --password '«hun ter2»' x", `run --password "«hun\" ter2»" x`, "run --api-key «hunter2»", "run --apiKey=«hunter2»",
	"run --token «hunter2»;echo", "java -Dspring.datasource.password=«hunter2» -jar a.jar", "java -Ddb.pass=«hunter2» -jar a.jar",
	`["run","--password","«hunter2»","--host","h"]`, `sh -c "run --password «hunter2»"`, `sh -c 'run --password '\''«hun ter2»'\'' x'`,
	"run --password=«hunter,2»", "run --password=«hun»;ter2",
	`run --password=«ab"cd"ef»`, "keytool -storepass «hunter2»", "Run-It -Password «hunter2»", "run /password:«hunter2»",
	"run --password «******»", "run --auth-token\t«hunter2»", "run --secret \\\n  «hunter2»", "x --oauth2-bearer «hunter2»",
	// Assignments.
	"PGPASSWORD=«hunter2» psql -h h", "export DB_PASSWORD='«hun ter2»'", "A=b PASSWORD=«hunter2» cmd", "password=«hunter2»", "host=h password=«hunter2» dbname=x",
	"Server=h;User Id=me;Password=«hunter2»;Encrypt=yes", "mount -o username=u,password=«hunter2»,vers=3 //h/x /y", "db.password = «hun ter2»", "a=b\ndb.password=«hun ter2»\nc=d",
	"AccountName=x;AccountKey=«aHVudGVyMg==»;EndpointSuffix=y", `password = "«hunter2»"`, "my $password = '«hunter2»';", "connect(user='a', password=\"«hunter2»\")",
	"grant_type=x&client_secret=«hunter2»&scope=y", "${DB_PASSWORD:-«hunter2»}", "${db.password:«hunter2»}", "0=password=«hunter2»,1=x=y", "kubectl create secret generic a --from-literal=password=«hunter2»",
	"password=b'«hunter2»'", "define('DB_PASSWORD', '«hunter2»')", `config["password"] = "«hunter2»"`,
	// JSON, YAML and other structured texts.
	`{"password":"«hunter2»"}`, `{"a":{"b":[{"dbPassword" : "«hun\"ter2»"}]}}`, `{"password":«1234567»,"a":1}`, `{"tokens":1,"passwords":["«a1»","«b2»"]}`,
	`'{"password":"«hunter2»"}'`, `"{\"password\":\"«hunter2»\"}"`, `"{\"password\":\"«ab\\\"cd»\"}"`, `"{\"password\":\"«ab\\\\»\",\"a\":1}"`, `{'password': '«hunter2»'}`, "db.auth({user:'a',pwd:'«hunter2»'})", "a: b\npassword: «hun ter2»\n", "{password: «hunter2», a: b}",
	"<password>«hunter2»</password>", `<property name="password" value="«hunter2»"/>`, `curl -d '{"api_key":"«hunter2»"}' h`,
	`{"key":"password","value":"«hunter2»"}`, `- name: DB_PASSWORD` + "\n  value: «hunter2»",
	// Headers.
	`curl -H "Authorization: Bearer «hunter2»" h`, `curl -H 'Authorization: Basic «bWU6aHVudGVyMg==»' h`, `curl -H "Authorization: «hunter2»" h`, "Authorization: Bearer «hunter2»",
	`curl -H "X-Api-Key: «hunter2»" h`, "X-Api-Key: «hunter2»", "curl -H X-Auth-Token:«hunter2» h", `{"Authorization":"Bearer «hunter2»"}`, `wget --header='PRIVATE-TOKEN: «hunter2»' h`,
	`curl -H "Cookie: «session=hunter2; a=b»" h`, "http h Authorization:'Bearer «hunter2»'", `curl -H Authorization:\ Bearer\ «hunter2» h`, `headers={'Authorization': 'Token «hunter2»'}`,
	`curl -H "Proxy-Authorization: Basic «bWU6aHVudGVyMg==»" h`, "Ocp-Apim-Subscription-Key: «hunter2»", "http.header.Authorization=Bearer «hunter2»",
	// Programs.
	"mysql -uroot -p«hunter2» db", "mysqldump -u root -p'«hun ter2»' db > x.sql", "docker exec db mysqldump -uroot -p«hunter2» x | gzip", "x=$(mysql -p«hunter2» -e 'select 1')", "/usr/bin/mysqladmin -p«hunter2» ping",
	"sshpass -p «hunter2» ssh me@h", "sshpass -p'«hunter2»' rsync a b", "sshpass -p «hunter2» scp -P 22 a b", "redis-cli -h h -a «hunter2» ping", "mongodump -u me -p «hunter2» --db x", "mongosh --eval 1 -p «hunter2»",
	"ldapsearch -x -D cn=admin -w «hunter2» -b dc=x", "sqlcmd -S h -U sa -P «hunter2» -Q x", "sqlcmd -P«hunter2»", "zip -P «hunter2» a.zip b", "7z a -p«hunter2» a.7z b", "rar a -hp«hunter2» a b",
	"curl -u me:«hunter2» h", "curl -sSfu me:«hunter2» h", "curl -ume:«hunter2» h", "curl --user 'me:«hun ter2»' h", "curl --proxy-user me:«hunter2» h", "curl --user=me:«hunter2» h", "curl -b '«session=hunter2»' h", "http -a me:«hunter2» h",
	"lftp -u me,«hunter2» h", "smbclient //h/s -U me%«hunter2»", "docker login -u me -p «hunter2» h", "echo a && podman login -p «hunter2»", "skopeo copy --src-creds me:«hunter2» a b", "plink -pw «hunter2» h", "openssl enc -aes-256-cbc -pass pass:«hunter2»", "openssl enc -k «hunter2»",
	"sqlplus -s scott/«tiger»@orcl @x.sql", "expdp system/«hunter2» full=y", "exp userid=scott/«tiger»", "echo «hunter2» | sudo -S reboot", "echo '«hun ter2»' | docker login -u me --password-stdin", "echo \"«me:hunter2»\" | chpasswd",
	"aws configure set aws_secret_access_key «hunter2»", "snmpget -v3 -A «hunter2» -X «hunter3» h", "ipmitool -H h -U a -P «hunter2» power status", "ALTER USER a IDENTIFIED BY '«hunter2»'", "ALTER ROLE a WITH PASSWORD '«hunter2»'",
	"machine h login me password «hunter2»", "sudo -u x env PGPASSWORD=«hunter2» psql", "mosquitto_pub -u a -P «hunter2» -t x", "ssh h \"mysqldump -p«hunter2» db\"", "ssh h 'mysql -p«hunter2» db'", "sh -c 'curl -u me:«hunter2» h'",
	// Texts that are secrets by their form.
	"gh ghp_«abcdefghijklmnopqrst0123»", "use github_pat_«11ABCDEFG0123456789ab»", "use xoxb-«123456789012-abcdefghijkl»", "-----BEGIN RSA PRIVATE KEY-----«\nMIIEvQ\n»-----END RSA PRIVATE KEY-----",
	"x eyJ«hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijkl» y", "curl https://hooks.slack.com/services/«T00/B00/abcdef»", "curl https://api.telegram.org/bot«12345:AAabcdef»/sendMessage",
	"curl 'https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=«0a1b2c3d-0a1b-2c3d»'", "curl https://open.feishu.cn/open-apis/bot/v2/hook/«0a1b2c3d-0a1b»", "https://x.blob.core.windows.net/a?sv=1&sig=«abc%3D»",
	"POST /open-apis/bot/v2/hook/«0123456789abcdef0123» failed",
	// URLs.
	"pg_dump postgres://me:«hunter2»@h/x", "curl 'https://h/x?token=«hunter2»&a=b'", "jdbc:mysql://h/x?user=a&password=«p»&b=c",
}

// plainTexts are texts without secrets.
var plainTexts = []string{
	"", "plain", "run --password-file /x", "run --password-file=/run/secrets/x", "PASSWORD_FILE=/x run", "run --token-count 5", "run --max-tokens 5", "run --tokenizer=gpt2 tokenize", "run --token= --x", "run --token= x", "token=", "password:",
	"run --password $PASSWORD", `run --password "$PASSWORD"`, `run --password="${DB_PASSWORD}" x`, "run --password=${X}", "run --password ${X:-}", "PGPASSWORD=$X psql", `PGPASSWORD="$(cat /run/x)" psql`, "PGPASSWORD=$(cat /run/x) psql", "TOKEN=`cat x` run",
	"run --password %PASSWORD%", "run --password {{ password }}", "run --password '#{password}'", "run --password <password>", "run --password --host h", "run --password", "run --no-password x", "run --ask-password x", "run --use-token true", "password=true", "PASSWORD=", `{"password":""}`, `{"password":null,"hasToken":true}`, `{"password":"${X}"}`, `{"tokens":5}`, `{"secretName":"x"}`,
	"psql -h h -p 5432 -U me", "mysql -h h -P 3306 -p db", "mysql -uroot -p", "mysql --password db", "psql --password db", "pg_dump -p 5432 db", "mkdir -p /a/b", "cp -p a b", "docker run -p 80:80 nginx", "docker run --name mysql -p 3306:3306 mysql:8", "docker run --name mysql -p3306:3306 mysql:8", "ssh -p 22 h", "nc -u h 53", "tar -cpf a.tar b", "ps -u me", "curl -u me h", "curl -u me:$PASS h", `curl -u "$USER:$PASS" h`, "sort -u a:b", "curl -b cookies.txt h", "zip -r a.zip b", "redis-cli -h h -p 6379",
	`curl -H "Authorization: Bearer $TOKEN" h`, `curl -H "Authorization: Bearer ${TOKEN}" h`, `curl -H 'Accept: application/json' h`, `curl -H "X-Api-Key: $KEY" h`, "docker pull my-secret:latest", "chown secret:secret /x", "docker run -v /run/secrets:/run/secrets x", "docker build --secret id=npm,src=/x .", "kubectl get secret my-secret", "vault token lookup", "aws secretsmanager get-secret-value --secret-id prod/db",
	"grep -E 'password=[^ ]+' x", "sed 's/password=.*/password=***/' x", `[ -z "$PASSWORD" ] && exit`, `[ "$TOKEN" = "" ]`, `if [ "$password" == "x" ]; then`, "password=os.environ['X']", "token = get_token()", "connect(password=self.password)", "connect(password=password, user=user)", "read -s -p Password: x", "echo 'Wrong password: try again'", "echo hello | sudo tee x", "echo done | mail -s x me",
	"the password is rotated on Mondays", "A=1,B=2", "0=Beijing,1=Shanghai", "http://h/x?a=b", "author: me", "key=value", "passenger=1 compass=2", "cd $PWD && PWD=/tmp run", "PASSWORD=$1", "--token-url https://h/x", "--secret-name=x", "sshpass -f /x ssh h", "sshpass -e ssh h", "sqlplus / as sysdba", "sqlplus -s /nolog @a/b.sql", "openssl enc -pass env:X", "openssl enc -pass file:/x", "keytool -storepass:env X", "bearer of good news", "authorization: enabled", "--password-policy strict", "--token-ttl=5m", "run --password file:///x", "run --token /run/secrets/token", "run --token @/x", "a ? b : password", "12:30:45", "printf 'token=%s' \"$TOKEN\"", "export PASSWORD", "unset TOKEN", "docker login --password-stdin < /x", "x://h:80/p", "C:\\secret\\x", "--show-secret=false", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----", "每天对账", "it's 5 o'clock: don't", "ghp_short", "eyJ", "SELECT password FROM t WHERE token = ?", "UPDATE t SET password = :password",
}

func TestSecretsInTexts(t *testing.T) {
	t.Parallel()
	long := "run --token «" + strings.Repeat("hunter2", 1000) + "» x"
	for _, marked := range append(secretTexts, long) {
		text, want, wantShown := strings.NewReplacer("«", "", "»", "").Replace(marked), []string(nil), ""
		for i, part := range strings.Split(marked, "«") {
			secret, rest, found := strings.Cut(part, "»")
			if i == 0 || !found {
				wantShown += part
				continue
			}
			want, wantShown = append(want, secret), wantShown+secrets.Hidden+rest
		}
		if got := secrets.In(text); !slices.Equal(got, want) {
			t.Errorf("%s\n has the secrets %q, want %q", text, got, want)
			continue
		}
		shown := secrets.Hide(text)
		if shown != wantShown {
			t.Errorf("%s\n is shown as %s\n want %s", text, shown, wantShown)
		}
		if again := secrets.Hide(shown); again != shown || len(secrets.In(shown)) != len(want) {
			t.Errorf("%s\n is shown as %s the second time, with the secrets %q", shown, again, secrets.In(shown))
		}
	}
	for _, text := range plainTexts {
		if got := secrets.In(text); len(got) > 0 {
			t.Errorf("%s\n has the secrets %q, want none", text, got)
		}
	}
}
