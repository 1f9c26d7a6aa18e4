// A bar that shows how much of a resource the scheduler uses, how much is free, and, hatched, how much others use. Without an offer,
// the free amount is not known.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'

const t = texts(
  { all: '{used} of {total} used by jobs here, {free} free{others}', others: ', {n} by others or not offered', noOffer: '{used} of {total} used by jobs here; the free amount is known while the agent offers it', unknown: '{used} used by jobs here; the total is not known yet' },
  { all: '共 {total}，本框架已用 {used}，空闲 {free}{others}', others: '，其他框架或未提供 {n}', noOffer: '共 {total}，本框架已用 {used}；Agent 提供资源时才知道空闲多少', unknown: '本框架已用 {used}；总量尚不清楚' },
)

/** @typedef {{total: number | null, used: number | null, free: number | null}} Use */

/**
 * UseBar shows the use as a bar and as numbers.
 * @param {{use: Use, format: (n: number | null | undefined) => string, label: string}} props
 */
export function UseBar({ use, format, label }) {
  const { total, used, free } = use
  if (total == null || total <= 0) {
    return html`<span class="usebar" title=${t('unknown', { used: format(used) })}><span class="usebar-bar"><span class="other" style=${{ width: '100%' }}></span></span><span class="usebar-text">${format(used)} / ?</span><span class="hidden">${label}: ${t('unknown', { used: format(used) })}</span></span>`
  }
  const others = free == null ? null : Math.max(0, total - (used ?? 0) - free)
  const text = free == null ? t('noOffer', { used: format(used), total: format(total) }) : t('all', { used: format(used), total: format(total), free: format(free), others: others ? t('others', { n: format(others) }) : '' })
  const share = (/** @type {number | null} */ n) => ({ width: `${Math.min(100, (100 * (n ?? 0)) / total)}%` })
  return html`<span class="usebar" title=${text}>
    <span class="usebar-bar" aria-hidden="true"><span class="ours" style=${share(used)}></span><span class="other" style=${share(others)}></span></span>
    <span class="usebar-text" aria-hidden="true">${format(used)} / ${format(total)}</span><span class="hidden">${label}: ${text}</span>
  </span>`
}
