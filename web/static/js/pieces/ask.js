import { html, useId } from '../lib/html.js'

/**
 * Ask shows an input with its label above, and the help or the error below. The child is called with the input's attributes.
 * @param {{label: string, help?: string, error?: string, children: (attributes: Record<string, unknown>) => any}} props
 */
export function Ask({ label, help, error, children }) {
  const id = useId()
  return html`<div class="field">
    <label for=${id}>${label}</label>
    ${children({ id, class: 'input', 'aria-invalid': error ? 'true' : undefined, 'aria-describedby': error || help ? `${id}-help` : undefined })}
    ${error ? html`<span class="error" id=${`${id}-help`} role="alert">${error}</span>` : help && html`<span class="help" id=${`${id}-help`}>${help}</span>`}
  </div>`
}
