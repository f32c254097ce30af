/** What the card of a job must be, written down from the specification, not from the code (spec 9; G4). */
export function cardOf(job) {
  const { jobId, sessionId, callerSessionId, subject, status, resultText, result, error, completedAt, headId, sourceCommitId } =
    job;
  const finalText = resultText ?? (result === null ? '' : JSON.stringify(result));
  const mark = `[cancelled at ${new Date(completedAt).toISOString()}]`;
  const contents = {
    completed: () => finalText,
    cancelled: () => (resultText ? `${resultText}\n${mark}` : mark),
    errored: () => `[task error] ${error.message}`,
  };
  const isOver = status in contents;
  return {
    cardId: `card_${jobId}`,
    sessionId: callerSessionId ?? sessionId,
    function: 'attach',
    content: isOver ? contents[status]() : '(running)',
    attach: {
      session_id: sessionId,
      job_id: jobId,
      status: isOver ? status : 'running',
      head_id: headId,
      source_commit_id: sourceCommitId,
      label: subject,
    },
  };
}
