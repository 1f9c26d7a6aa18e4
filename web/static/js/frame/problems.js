// The line at the top of each page that shows the worst problem.
import { html, useEffect } from '../lib/html.js'
import { useAgentNames } from '../lib/agents.js'
import { dismiss, dismissed, forgetEnded, idOf, sentenceOf, worstOf } from '../lib/problems.js'
import { messageOf } from '../lib/reasons.js'
import { useResource } from '../lib/resource.js'
import { may } from '../lib/session.js'
import { signal, useSignal } from '../lib/signal.js'
import { texts } from '../lib/texts.js'
import { serverZone } from '../lib/zone.js'
import { link } from '../routes.js'
import { Icon } from '../pieces/icon.js'
import { Since } from '../pieces/time.js'

const t = texts(
  { fine: 'Nothing needs attention.', more: 'and {n} more', dismiss: 'Dismiss until something new is wrong', dismissed: '{n|problem|problems} dismissed', show: 'Show' },
  { fine: '一切正常。', more: '以及另外 {n} 项', dismiss: '忽略，直到出现新问题', dismissed: '已忽略 {n} 个问题', show: '显示' },
)

/** overview is the last answer to GET /api/overview. The head of every page and the overview page use it. */
export const overview = signal(/** @type {any} */ (null))

/** overviewFailure is the error of GET /api/overview, as long as no request has succeeded. */
export const overviewFailure = signal(/** @type {{error: Error, again: () => void, busy: boolean} | null} */ (null))

/** Problems shows in one line the worst problem and the number of others. Users can dismiss it until there is a new problem. */
export function Problems() {
  const { data, error, retrying, reload } = useResource('/api/overview', { on: () => true, gap: 2000, every: 15_000 })
  useEffect(() => {
    if (data) {
      overview.set(data)
      serverZone.set(data.timeZone)
      forgetEnded(data.problems, data.problemsTotal)
    }
    overviewFailure.set(data || !error ? null : { error, again: reload, busy: retrying })
  }, [data, error])
  const now = useSignal(overview)
  const without = useSignal(dismissed)
  useAgentNames()
  if (!now) return error ? html`<div class="problems warning" role="status">${error.message}</div>` : html`<div class="problems" aria-busy="true"></div>`
  const { problems, problemsTotal: total } = now
  const worst = worstOf(problems, without)
  if (!worst) {
    return html`<div class="problems" role="status">${total === 0 ? t('fine') : html`<a href="/">${t('dismissed', { n: total })}</a>
      <button type="button" class="link-button" onClick=${() => dismissed.set([])}>${t('show')}</button>`}</div>`
  }
  return html`<div class=${`problems ${worst.severity}`} role="status">
    <span key=${idOf(worst)} class="cut"><a href=${placeOf(worst)} title=${messageOf(worst)}>${sentenceOf(worst)}</a>${worst.since && html` · <${Since} at=${worst.since} />`}</span>
    ${total > 1 && html`<a class="nowrap" href="/">${t('more', { n: total - 1 })}</a>`}
    <button type="button" class="link-button dismiss" aria-label=${t('dismiss')} title=${t('dismiss')} onClick=${() => dismiss(problems)}><${Icon} name="close" size=${12} /></button>
  </div>`
}

/**
 * placeOf returns the address of the page that shows a problem.
 * @param {import('../lib/problems.js').Problem} p
 */
export function placeOf(p) {
  if (p.job) return link.job(p.job)
  if (p.kind === 'START_FAILURES' && !may('viewer')) return link.app(p.app)
  if (p.kind === 'START_FAILURES') return '/cluster#starts'
  if (p.kind === 'FAULTY') return '/cluster#faulty'
  if (p.agent) return link.agent(p.agent)
  return p.kind === 'NOT_SUBSCRIBED' || p.kind === 'MOST_SILENT' ? '/cluster' : '/'
}
