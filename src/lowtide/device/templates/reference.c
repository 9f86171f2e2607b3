
    /* One class is what the others are compared with: it has no weights, and scores 0. */
    for (c = COLUMNS; c > ${reference}u; --c) scores[c] = scores[c - 1];
    scores[${reference}] = 0;
