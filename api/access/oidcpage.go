package access

import (
	"bytes"
	"html/template"

	"github.com/gin-gonic/gin"

	"github.com/elasticjob-go/elasticjob/api/failure"
)

// failedPage tells a user why the login failed. Its links are relative, so that they also work behind a proxy that
// serves this server below a path. It loads no other files, because the content security policy of all answers forbids
// that.
var failedPage = template.Must(template.New("login").Parse(`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><title>Login failed · ElasticJob</title></head>
<body>
<h1>Login failed · <span lang="zh-CN">登录失败</span></h1>
<p>{{.Message}}</p>
<p>Code: <code>{{.Code}}</code></p>
<p><a href="login">Try again · <span lang="zh-CN">重试</span></a> | <a href="../../">Back to the console · <span lang="zh-CN">返回控制台</span></a></p>
</body>
</html>
`))

// fail answers with an error: as a page for a browser, as JSON for other clients.
func (h *Handlers) fail(c *gin.Context, err error) {
	if !failure.WantsPage(c.Request) {
		h.Answers.Fail(c.Writer, c.Request, err)
		return
	}
	h.Answers.FailWith(c.Writer, c.Request, err, func(f *failure.Failure) (string, []byte) {
		var page bytes.Buffer
		if err := failedPage.Execute(&page, f); err != nil {
			panic(err) // the template is valid
		}
		return "text/html; charset=utf-8", page.Bytes()
	})
}

// redirect redirects a browser. Unlike http.Redirect, it does not make a relative address absolute.
func redirect(c *gin.Context, status int, address string) {
	c.Header("Location", address)
	c.Status(status)
	c.Writer.WriteHeaderNow()
}

// frontPage is the address of the front page, relative to the callback.
const frontPage = "../../"
