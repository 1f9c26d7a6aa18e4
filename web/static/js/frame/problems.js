// Each page answers first: is anything wrong, and where?
import { html, useEffect } from '../lib/html.js'
import { messageOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { signal, useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { serverZone } from '../lib/zone.js'
import { link } from '../routes.js'
import { Since } from '../pieces/time.js'

const t = texts(
  {
    fine: 'Nothing needs a look.', more: '{n} more', fails: '{job} fails', failing: '{n|job fails|jobs fail}', waits: '{job} waits', waiting: '{n|job waits|jobs wait}', isLate: '{job} is late', late: '{n|job is late|jobs are late}',
    unreachable: 'agent {agent} is unreachable', agents: '{n|agent is|agents are} unreachable', notSubscribed: 'not subscribed to the cluster', faulty: '{n|faulty document|faulty documents}', start: '{app} does not start on {agent}', starts: '{n|app does not start|apps do not start} on an agent',
    missed: '{job} missed fires', misses: '{n|job|jobs} missed fires', unnotified: '{n|notification|notifications} not sent', silent: '{job} is silent', daemons: '{n|daemon is|daemons are} silent',
  },
  {
    fine: '一切正常。', more: '另有 {n} 项', fails: '{job} 失败', failing: '{n} 个作业失败', waits: '{job} 等待中', waiting: '{n} 个作业等待中', isLate: '{job} 延迟', late: '{n} 个作业延迟',
    unreachable: 'Agent {agent} 失联', agents: '{n} 个 Agent 失联', notSubscribed: '未订阅集群', faulty: '{n} 份配置有误', start: '{app} 在 {agent} 上启动失败', starts: '{n} 个应用在 Agent 上启动失败',
    missed: '{job} 错过触发', misses: '{n} 个作业错过触发', unnotified: '{n} 条通知未发出', silent: '{job} 无响应', daemons: '{n} 个常驻作业无响应',
  },
)

/** @typedef {{kind: string, severity: 'error' | 'warning', job: string, app: string, agent: string, path: string, count: number, since: string, message: string}} Problem */

/** overview is what GET /api/overview answered last; every page's head and the overview's page are drawn of it. */
export const overview = signal(/** @type {any} */ (null))

/** overviewFailure is why there was no answer yet. */
export const overviewFailure = signal(/** @type {{error: Error, again: () => void, busy: boolean} | null} */ (null))

/** Problems says in one line what needs a look, with links. */
export function Problems() {
  const { data, error, retrying, reload } = useResource('/api/overview', { on: () => true, gap: 2000, every: 15_000 })
  useEffect(() => {
    if (data) {
      overview.set(data)
      serverZone.set(data.timeZone)
    }
    overviewFailure.set(data || !error ? null : { error, again: reload, busy: retrying })
  }, [data, error])
  const now = useSignal(overview)
  if (!now) return error ? html`<div class="problems warning" role="status">${error.message}</div>` : html`<div class="problems" aria-busy="true"></div>`
  const lines = inShort(now.problems, now.problemsTotal > now.problems.length)
  if (lines.length === 0) return html`<div class="problems" role="status">${t('fine')}</div>`
  const worst = lines.some((l) => l.severity === 'error') ? 'error' : 'warning'
  return html`<div class=${`problems ${worst}`} role="status">
    ${lines.slice(0, 5).map((l) => html`<span key=${l.text}><a href=${l.to}>${l.text}</a> ${l.since && html`<${Since} at=${l.since} />`}</span>`)}
    ${lines.length > 5 && html`<a href="/">${t('more', { n: lines.length - 5 })}</a>`}
  </div>`
}

/** @type {Record<string, {one?: Parameters<typeof t>[0], many: Parameters<typeof t>[0], to: string}>} */
const kinds = {
  FAILING: { one: 'fails', many: 'failing', to: '/jobs?last=FAILED' },
  WAITING: { one: 'waits', many: 'waiting', to: '/jobs?state=WAITING' },
  LATE: { one: 'isLate', many: 'late', to: '/jobs?sort=nextFire' },
  AGENT_UNREACHABLE: { one: 'unreachable', many: 'agents', to: '/cluster' },
  NOT_SUBSCRIBED: { many: 'notSubscribed', to: '/cluster' },
  FAULTY: { many: 'faulty', to: '/cluster#faulty' },
  START_FAILURES: { one: 'start', many: 'starts', to: '/cluster#starts' },
  MISSED: { one: 'missed', many: 'misses', to: '/' },
  UNNOTIFIED: { many: 'unnotified', to: '/' },
  DAEMON_SILENT: { one: 'silent', many: 'daemons', to: '/jobs?type=DAEMON' },
}

/**
 * inShort sums problems up by kind: each kind a few words and where to look. `cut` says that there are more than these.
 * @param {Problem[]} problems
 * @param {boolean} cut
 */
export function inShort(problems, cut) {
  /** @type {Map<string, Problem[]>} */
  const byKind = new Map()
  for (const p of problems) byKind.set(p.kind, [...(byKind.get(p.kind) ?? []), p])
  return [...byKind].flatMap(([kind, of]) => {
    const known = kinds[kind]
    if (!known) return of.map((p) => ({ text: messageOf(p), to: '/', since: p.since, severity: p.severity }))
    const [first] = of
    if (of.length === 1 && known.one) return [{ text: t(known.one, { ...first }), to: first.job ? link.job(first.job) : first.agent && !first.app ? link.agent(first.agent) : known.to, since: first.since, severity: first.severity }]
    return [{ text: t(known.many, { n: cut && of.length > 1 ? `${of.length}+` : of.length }), to: known.to, since: '', severity: first.severity }]
  })
}
