// Reconstructs earlier settings from the current ones and the changes since then.

/**
 * settingsAfter returns the settings after each of a job's changes, the newest first. It starts with the current settings and undoes
 * one change after the other: an update contains the previous values of the fields that it changed.
 * @param {any[]} rows
 * @param {any} now
 */
export function settingsAfter(rows, now) {
  let doc = now
  return rows.map((r) => {
    const after = r.action === 'job.register' ? (doc ?? r.after) : doc
    if (r.action === 'job.register') doc = null
    else if (r.action === 'job.delete') doc = r.before
    else if (r.action === 'job.update' && doc) doc = undone(doc, r)
    return r.action === 'job.delete' ? null : after
  })
}

/**
 * undone returns a document before an update. A field that only `after` contains did not exist before.
 * @param {any} doc
 * @param {{before: any, after: any}} update
 */
function undone(doc, { before, after }) {
  const was = { ...doc, ...before }
  for (const field of Object.keys({ ...before, ...after })) if (before?.[field] == null) delete was[field]
  return was
}
