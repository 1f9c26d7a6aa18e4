// Retries stylesheets that could not be loaded.
import { delayOf } from './retry.js'

/**
 * retryStyles loads the page's stylesheets again that have failed. It need not wait, because scripts run only when all stylesheets were
 * loaded or have failed.
 */
export function retryStyles() {
  for (const link of document.querySelectorAll('link[rel="stylesheet"]')) {
    if (link instanceof HTMLLinkElement && !isThere(link)) mend(link, 1)
  }
}

/**
 * isThere reports whether a stylesheet was loaded. For one that was not, Chromium has a sheet whose rules cannot be read.
 * @param {HTMLLinkElement} link
 */
function isThere(link) {
  try {
    return Boolean(link.sheet?.cssRules)
  } catch {
    return false
  }
}

/**
 * @param {HTMLLinkElement} link
 * @param {number} tries
 */
function mend(link, tries) {
  setTimeout(() => {
    const next = /** @type {HTMLLinkElement} */ (link.cloneNode())
    next.addEventListener('error', () => mend(next, tries + 1))
    link.replaceWith(next)
  }, delayOf(tries))
}
