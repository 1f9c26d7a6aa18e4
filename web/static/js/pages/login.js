// The login, and help for a server without users.
import { html, useEffect, useState } from '../lib/html.js'
import { call, get } from '../lib/api.js'
import { patiently } from '../lib/retry.js'
import { readSession, session } from '../lib/session.js'
import { texts } from '../lib/texts.js'
import { useBusy } from '../pieces/act.js'
import { Copy } from '../pieces/curl.js'
import { turnLanguage } from '../frame/nav.js'

const t = texts(
  {
    title: 'Log in', user: 'User', password: 'Password', enter: 'Log in', other: '中文', wrong: 'Wrong user or password.', tooMany: 'Too many failed logins. Try again in {n} s.', openId: 'Log in with OpenID', or: 'or',
    noUsers: 'No users yet', noUsersHelp: 'This server can be reached from other machines and has no users, so no one can log in. Create the first user on the server’s machine, with the --registry, --zk, --zk-namespace or --data-dir of the server; then log in here.', loggedOut: 'Forgot your password? An admin can set a new one.', again: 'I have created one',
  },
  {
    title: '登录', user: '用户名', password: '密码', enter: '登录', other: 'English', wrong: '用户名或密码不正确。', tooMany: '失败的登录次数过多，请在 {n} 秒后重试。', openId: '使用 OpenID 登录', or: '或',
    noUsers: '还没有用户', noUsersHelp: '此调度器可从其他机器访问，但还没有用户，因此不允许任何人进入。请在调度器所在的机器上创建第一个用户，并使用与调度器相同的 --registry、--zk、--zk-namespace 或 --data-dir，然后在此登录。', loggedOut: '忘记密码时，管理员可以重新设置。', again: '已创建',
  },
)

/** Login asks for name and password. The address stays, so that the page that the user wanted is shown after the login. */
export function Login() {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [error, setError] = useState('')
  const [until, setUntil] = useState(0)
  const [ways, setWays] = useState(/** @type {{password: boolean, openId: boolean} | null} */ (null))
  const [busy, run] = useBusy()
  const left = useLeft(until)
  useEffect(() => {
    document.title = `${t('title')} · ElasticJob`
    const abort = new AbortController()
    const unknown = () => setWays({ password: true, openId: false })
    patiently(() => get('/api/login', abort.signal), abort.signal, unknown).then(setWays, () => abort.signal.aborted || unknown())
    // A login in another tab is also valid here. Without one, the page behind the login stays, with what was typed into it.
    const look = () => document.hidden || get('/api/session', abort.signal).then(readSession, () => {})
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      abort.abort()
    }
  }, [])
  const enter = (/** @type {Event} */ e) => {
    e.preventDefault()
    void run(async () => {
      try {
        await call({ method: 'POST', path: '/api/session', body: { username, password } })
        await readSession()
      } catch (problem) {
        const failed = /** @type {import('../lib/api.js').ApiError} */ (problem)
        setPassword('')
        if (failed.status === 429) setUntil(Date.now() + 1000 * (failed.retryAfter || 5))
        setError(failed.status === 429 ? '' : failed.code === 'bad_credentials' ? t('wrong') : failed.message)
      }
    })
  }
  const message = left > 0 ? t('tooMany', { n: left }) : error
  const invalid = message ? 'true' : undefined
  return html`<main class="content login"><form class="box stack" onSubmit=${enter}>
    <h1>${t('title')}</h1>
    ${ways === null ? html`<div class="login-room" aria-busy="true"></div>` : html`
      ${ways.password && html`
        <div class="field"><label for="username">${t('user')}</label><input id="username" class="input" autocomplete="username" autofocus autocapitalize="none" spellcheck="false" required aria-invalid=${invalid} value=${username} onInput=${(/** @type {any} */ e) => setUsername(e.target.value)} /></div>
        <div class="field"><label for="password">${t('password')}</label><input id="password" class="input" type="password" autocomplete="current-password" required aria-invalid=${invalid} aria-describedby="login-error" value=${password} onInput=${(/** @type {any} */ e) => setPassword(e.target.value)} />
          <span class="error" id="login-error" role="alert">${message}</span></div>
        <button class="button main" disabled=${busy || left > 0}>${busy && html`<span class="busy"></span>`}${t('enter')}</button>`}
      ${ways.password && ways.openId && html`<p class="muted small">${t('or')}</p>`}
      ${ways.openId && html`<a class=${`button${ways.password ? '' : ' main'}`} href="/api/oidc/login">${t('openId')}</a>`}`}
    <div class="row spread"><span class="small muted">${ways?.password && t('loggedOut')}</span>${!session.get() && html`<button type="button" class="link-button" onClick=${turnLanguage}>${t('other')}</button>`}</div>
  </form></main>`
}

/** @param {number} until */
function useLeft(until) {
  const [, tick] = useState(0)
  const left = Math.ceil((until - Date.now()) / 1000)
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => tick((n) => n + 1), 500)
    return () => clearTimeout(timer)
  })
  return left
}

/** NoUsers says how to create the first user of a server that other machines can reach and that has no users. */
export function NoUsers() {
  const line = 'scheduler user add NAME --role admin'
  return html`<main class="content login"><div class="box stack">
    <h1>${t('noUsers')}</h1>
    <p>${t('noUsersHelp')}</p>
    <div class="curl"><pre tabindex="0">${line}</pre><${Copy} text=${line} /></div>
    <div class="row spread"><button type="button" class="button main" onClick=${readSession}>${t('again')}</button><button type="button" class="link-button" onClick=${turnLanguage}>${t('other')}</button></div>
  </div></main>`
}
