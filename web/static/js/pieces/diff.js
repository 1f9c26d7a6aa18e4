// The differences between two documents, of a past change or of what a form would change.
import { html } from '../lib/html.js'
import { differences, middles } from '../lib/diff.js'
import { texts } from '../lib/texts.js'

const t = texts(
  { label: 'What differs', field: 'Field', before: 'Before', after: 'After', none: 'Nothing differs.', nothing: 'not set', empty: 'empty', hidden: 'a secret, changed' },
  { label: '差异', field: '字段', before: '之前', after: '之后', none: '没有差异。', nothing: '未设置', empty: '空', hidden: '敏感值，已修改' },
)

/** @param {unknown} value */
const asText = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 1))

/** @param {{value: unknown, text?: any}} props */
function Value({ value, text }) {
  if (value === undefined || value === null) return html`<span class="muted">${t('nothing')}</span>`
  if (value === '') return html`<span class="muted">${t('empty')}</span>`
  return html`<span class="mono">${text ?? asText(value)}</span>`
}

/**
 * Diff shows the differences between two documents. null and undefined count as documents without fields. `onlyChanges` is for
 * documents that hold only what has changed, as those of the audit do. `heads` replaces the headings before and after.
 * @param {{before: unknown, after: unknown, onlyChanges?: boolean, heads?: [string, string]}} props
 */
export function Diff({ before, after, onlyChanges, heads = [t('before'), t('after')] }) {
  const all = differences(before, after, { onlyChanges })
  if (all.length === 0) return html`<p class="muted">${t('none')}</p>`
  return html`<table class="diff" aria-label=${t('label')}>
    <thead><tr><th scope="col">${t('field')}</th><th scope="col">${heads[0]}</th><th scope="col">${heads[1]}</th></tr></thead>
    <tbody>${all.map((d) => {
      if (d.kind === 'hidden') return html`<tr key=${d.field}><th scope="row" class="mono">${d.field}</th><td colspan="2" class="muted">${t('hidden')}</td></tr>`
      const texted = typeof d.before === 'string' && typeof d.after === 'string' && d.before && d.after
      const [head, was, is, tail] = texted ? middles(/** @type {string} */ (d.before), /** @type {string} */ (d.after)) : ['', '', '', '']
      const marked = (/** @type {string} */ part) => (texted && (head || tail) ? html`${head}${part && html`<mark>${part}</mark>`}${tail}` : undefined)
      return html`<tr key=${d.field}><th scope="row" class="mono">${d.field}</th>
        <td class="was" data-label=${heads[0]}><${Value} value=${d.before} text=${marked(was)} /></td>
        <td class="is" data-label=${heads[1]}><${Value} value=${d.after} text=${marked(is)} /></td></tr>`
    })}</tbody>
  </table>`
}
