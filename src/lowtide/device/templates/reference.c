
    /* The class that the others are compared with has no weights and scores 0; the last one was in its place. */
    scores[COLUMNS] = scores[${reference}];
    scores[${reference}] = 0;