/** A consumer Worker that tells whoever asks which bodies it was given. */
const bodies = [];

export default {
  async queue(batch) {
    for (const message of batch.messages) bodies.push(message.body);
  },
  async fetch() {
    return Response.json(bodies);
  },
};
