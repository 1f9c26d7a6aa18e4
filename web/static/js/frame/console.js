// The whole console: the login, or the frame with the page of the address.
import { html, useEffect, useState, useErrorBoundary } from '../lib/html.js'
import { agents } from '../lib/agents.js'
import { loginNeeded } from '../lib/api.js'
import { connect, disconnect } from '../lib/live.js'
import { delayOf, mayPass } from '../lib/retry.js'
import { match, place } from '../lib/router.js'
import { forgetAll } from '../lib/resource.js'
import { session, sessionError, readSession } from '../lib/session.js'
import { useSignal } from '../lib/signal.js'
import { language, narrowNav, zone } from '../lib/store.js'
import { texts } from '../lib/texts.js'
import { Failure } from '../pieces/notice.js'
import { Toasts } from '../pieces/toast.js'
import { routes } from '../routes.js'
import { Login, NoUsers } from '../pages/login.js'
import { Nav } from './nav.js'
import { Page } from './page.js'
import { Palette, usePalette } from './palette.js'

const t = texts(
  { skip: 'Skip to the content', unknown: 'There is no such page', unknownHelp: 'There is nothing at this address. Look in the list of jobs, or search with Ctrl-K.', jobs: 'Jobs', broken: 'This page has failed', brokenHelp: 'This is a fault of the console; its other pages still work.', notLoaded: 'This page is not loaded yet', notLoadedHelp: 'A file of the console could not be loaded. It is retried automatically. If that does not help, the server may have been replaced by another version: reload the page.' },
  { skip: '跳到内容', unknown: '没有这个页面', unknownHelp: '此地址没有内容。可以在作业列表中查找，或按 Ctrl-K 搜索。', jobs: '作业', broken: '此页面出错', brokenHelp: '这是控制台的问题，其他部分仍可使用。', notLoaded: '此页面尚未加载', notLoadedHelp: '控制台的一个文件未能获取，正在自动重试。如果一直无法加载，可能是调度器已更换版本，请重新加载页面。' },
)

/** Console draws the login or the page. */
export function Console() {
  useSignal(language)
  useSignal(zone)
  const who = useSignal(session)
  const error = useSignal(sessionError)
  const login = useSignal(loginNeeded)
  const person = who && JSON.stringify([who.kind, who.name, who.role, who.apps])
  useEffect(() => {
    forgetAll()
    agents.forget()
  }, [person])
  useEffect(() => (person && !login ? connect(person) : disconnect()), [person, login])
  if (!who && !login) return error?.code === 'no_users' ? html`<${NoUsers} />` : html`<main class="content"><${Failure} error=${error ?? new Error('')} again=${readSession} busy=${mayPass(error)} /></main>`
  // The page stays, hidden and with what was typed into it, when its session ends. If the same user logs in, it is shown again.
  return html`${login && html`<${Login} /><${Toasts} />`}${who && html`<div key=${`${person} ${language.get()}`} hidden=${login}><${Frame} /></div>`}`
}

function Frame() {
  const { path } = useSignal(place)
  const narrow = useSignal(narrowNav)
  const found = match(routes, path)
  const palette = usePalette()
  return html`<div class=${`frame${narrow ? ' narrow' : ''}`}>
    <a class="skip" href="#content">${t('skip')}</a>
    <${Nav} section=${found?.route.section ?? ''} onSearch=${palette.show} />
    <div class="main">${found ? html`<${Lazy} key=${path} route=${found.route} params=${found.params} />` : html`<${Unknown} />`}</div>
    ${palette.open && html`<${Palette} onClose=${palette.hide} />`}
    <${Toasts} />
  </div>`
}

const Unknown = () => html`<${Page} title=${t('unknown')}><p>${t('unknownHelp')}</p><p><a href="/jobs">${t('jobs')}</a></p></${Page}>`

const loaded = new Map()

/**
 * Lazy draws a page once its module is loaded, and retries a failed load. It also offers to load the whole console again, because some
 * browsers do not retry a failed module, and a server of another version has its modules at other addresses.
 * @param {{route: import('../lib/router.js').Route, params: Record<string, string>}} props
 */
function Lazy({ route, params }) {
  const [, redraw] = useState(0)
  const [failed, setFailed] = useState(/** @type {Error | null} */ (null))
  const [broken, reset] = useErrorBoundary((e) => console.error(e))
  useEffect(() => {
    if (loaded.has(route)) return
    let mounted = true
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer
    const load = (/** @type {number} */ tries) => void route.load().then(
      (m) => {
        loaded.set(route, m.default)
        if (mounted) redraw((n) => n + 1)
      },
      (e) => {
        if (!mounted) return
        setFailed(e)
        timer = setTimeout(() => load(tries + 1), delayOf(tries))
      },
    )
    load(1)
    return () => {
      mounted = false
      clearTimeout(timer)
    }
  }, [route])
  const Body = loaded.get(route)
  if (broken) return html`<${Page} title=${t('broken')}><${Failure} error=${{ message: `${t('brokenHelp')} ${broken.message ?? broken}` }} again=${reset} /></${Page}>`
  if (Body) return html`<${Body} ...${params} />`
  if (!failed) return null
  return html`<${Page} title=${t('notLoaded')}><${Failure} error=${{ message: `${t('notLoadedHelp')} (${failed.message})` }} again=${() => location.reload()} busy /></${Page}>`
}
