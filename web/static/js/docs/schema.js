// A schema as a table of fields.
import { html } from '../lib/html.js'
import { texts } from '../lib/texts.js'
import { boundsOf, typeOf } from './description.js'

const t = texts(
  { field: 'Field', type: 'Type', about: 'Description', needed: 'always there', values: 'One of {all}.', old: 'without effect' },
  { field: '字段', type: '类型', about: '说明', needed: '始终存在', values: '取值：{all}。', old: '无作用' },
)

/** schemaAnchor returns the anchor of a schema on the page. */
export const schemaAnchor = (/** @type {string} */ name) => `schema-${name}`

/**
 * Type describes the type of a schema, with a link if the schema has a name.
 * @param {{of?: import('./description.js').Schema}} props
 */
export function Type({ of }) {
  const at = of?.$ref ? of : of?.items?.$ref ? of.items : typeof of?.additionalProperties === 'object' && of.additionalProperties.$ref ? of.additionalProperties : of?.anyOf?.find((/** @type {any} */ one) => one.$ref)
  const words = typeOf(of)
  if (!at) return html`<span>${words}</span>`
  return html`<a href=${`#${schemaAnchor(at.$ref.split('/').pop())}`}>${words}</a>`
}

/**
 * Fields shows the fields of an object's schema, or the type of any other schema.
 * @param {{of: import('./description.js').Schema}} props
 */
export function Fields({ of }) {
  const names = Object.keys(of.properties ?? {})
  if (!names.length) return html`<p>${of.enum ? t('values', { all: of.enum.join(', ') }) : html`<${Type} of=${of} />`} ${of.description ?? ''}</p>`
  return html`<div class="docs-table"><table>
    <thead><tr><th scope="col">${t('field')}</th><th scope="col">${t('type')}</th><th scope="col">${t('about')}</th></tr></thead>
    <tbody>${names.map((name) => {
      const one = of.properties[name]
      return html`<tr key=${name}><td><code>${name}</code>${of.required?.includes(name) && html` <span class="muted small">${t('needed')}</span>`}</td><td><${Type} of=${one} /></td>
        <td>${one.description ?? ''} <span class="muted">${[boundsOf(one), one.deprecated && t('old')].filter(Boolean).join(', ')}</span></td></tr>`
    })}</tbody>
  </table></div>`
}
