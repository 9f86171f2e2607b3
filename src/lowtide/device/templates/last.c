
    scores[COLUMNS] = 0;